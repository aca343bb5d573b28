import type { Sleeper } from './alarms.js';
import { Bag } from './bag.js';
import { Heap } from '../structures/heap.js';
import type { Job, Reserver } from './store.js';

/** Jobs with a smaller priority number are counted as urgent. */
const URGENT_BELOW = 1024;

/** The jobs of one name that nobody holds, in their order, and those who wait for one. */
export class Tube implements Sleeper {
  heapIndex = -1;
  wakeAt = Infinity;

  readonly ready = new Heap<Job>(readyBefore);
  readonly delayed = new Heap<Job>(dueBefore);
  /** In the order of their burial. */
  readonly buried = new Heap<Job>((a, b) => a.burial < b.burial);
  /** First come, first served. */
  readonly waiting = new Set<Reserver>();

  /** Until when no job is handed out, by Clock.now; undefined while not paused. */
  pausedUntil: number | undefined;
  pauseSeconds = 0;

  /** Connections that put here, connections that watch, and jobs in any state: without any of them, the tube vanishes. */
  using = 0;
  watching = 0;
  jobs = 0;

  urgent = 0;
  reserved = 0;
  totalJobs = 0;
  deletes = 0;
  pauses = 0;

  constructor(readonly name: string) {}

  addReady(job: Job): void {
    this.ready.add(job);
    if (job.pri < URGENT_BELOW) this.urgent++;
  }

  removeReady(job: Job): void {
    this.ready.remove(job);
    if (job.pri < URGENT_BELOW) this.urgent--;
  }

  /** The job to be handed out next, unless the tube is paused. */
  available(): Job | undefined {
    return this.pausedUntil === undefined ? this.ready.peek() : undefined;
  }

  /** When there is something to do here without anybody's command. */
  nextEvent(): number {
    return Math.min(this.delayed.peek()?.deadline ?? Infinity, this.pausedUntil ?? Infinity);
  }
}

export function readyBefore(a: Job, b: Job): boolean {
  return a.pri < b.pri || (a.pri === b.pri && a.id < b.id);
}

/** The order of delayed jobs, and of reserved ones. */
export function dueBefore(a: Job, b: Job): boolean {
  return a.deadline < b.deadline || (a.deadline === b.deadline && a.id < b.id);
}

/** All tubes that exist: `default`, and those that are used, watched or hold a job. */
export class Tubes {
  private readonly bag = new Bag<Tube>();
  private readonly byName = new Map<string, Tube>();
  readonly default = this.findOrMake('default');

  /** In beanstalkd's order of listing. */
  get all(): readonly Tube[] {
    return this.bag.items;
  }

  find(name: string): Tube | undefined {
    return this.byName.get(name);
  }

  findOrMake(name: string): Tube {
    const found = this.byName.get(name);
    if (found) return found;
    const tube = new Tube(name);
    this.byName.set(name, tube);
    this.bag.add(tube);
    return tube;
  }

  /** To be called when a tube lost a user, a watcher or a job. True if it is gone now. */
  dropIfUnused(tube: Tube): boolean {
    if (tube.using > 0 || tube.watching > 0 || tube.jobs > 0 || tube === this.default) return false;
    this.byName.delete(tube.name);
    this.bag.delete(tube);
    return true;
  }
}
