import type { Measure } from './measure.js';
import { backlog } from './measures/backlog.js';
import { batches } from './measures/batches.js';
import { bulk } from './measures/bulk.js';
import { clients } from './measures/clients.js';
import { cpu } from './measures/cpu.js';
import { dashboard } from './measures/dashboard.js';
import { drain } from './measures/drain.js';
import { embedded } from './measures/embedded.js';
import { goQueue } from './measures/go-queue.js';
import { growth } from './measures/growth.js';
import { hotKey } from './measures/hot-key.js';
import { idleJob } from './measures/idle-job.js';
import { indexOfJobs } from './measures/index-of-jobs.js';
import { inspector } from './measures/inspector.js';
import { immediate } from './measures/immediate.js';
import { keptDone } from './measures/kept-done.js';
import { keptErrors } from './measures/kept-errors.js';
import { kafka } from './measures/kafka.js';
import { lateness } from './measures/lateness.js';
import { lingering } from './measures/lingering.js';
import { memory } from './measures/memory.js';
import { nodes } from './measures/nodes.js';
import { processes } from './measures/processes.js';
import { raw } from './measures/raw.js';
import { recovery } from './measures/recovery.js';
import { repair } from './measures/repair.js';
import { revoke } from './measures/revoke.js';
import { schedule } from './measures/schedule.js';
import { sealed } from './measures/sealed.js';
import { tubes } from './measures/tubes.js';

/** In the order in which they run. */
export const MEASURES: readonly Measure[] = [
  schedule,
  bulk,
  revoke,
  drain,
  batches,
  nodes,
  processes,
  tubes,
  lateness,
  idleJob,
  immediate,
  lingering,
  memory,
  indexOfJobs,
  sealed,
  keptErrors,
  keptDone,
  inspector,
  dashboard,
  growth,
  backlog,
  recovery,
  repair,
  hotKey,
  raw,
  cpu,
  embedded,
  kafka,
  clients,
  goQueue,
];
