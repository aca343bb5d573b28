import type { Disk, DiskPart } from '../disk/disk.js';
import { allocate, VALUE, type DiskBatch } from '../disk/entries.js';
import type { Clock } from 'nest-handlers/time';
import type { JobWriter, JobStore } from './job-store.js';
import { Job, type Tubes } from './tubes.js';

/**
 * A job is written once as a whole, with its body: `job <id>` is its state, then ttr, creation, the length of its tube's name,
 * the name, and the body. Later changes are written as `state <id>`, which takes precedence. `last id` is the highest id ever
 * assigned. All numbers are little-endian; times are milliseconds since 1970.
 */
const JOB = 'job ';
const STATE = 'state ';
const LAST_ID = 'last id';
/** Digits of an id in a key, so that keys and ids sort alike. */
const ID_DIGITS = 16;
/** Bytes of a state, and of the fields between it and the tube's name. */
const STATE_SIZE_BYTES = 45;
const FIXED_SIZE_BYTES = 13;

/** A held job is stored as ready: nobody holds anything after a restart. */
const STATES = ['ready', 'delayed', 'buried'] as const;
const COUNTERS = ['reserves', 'timeouts', 'releases', 'buries', 'kicks'] as const;

/** Writes the jobs of a node to a disk: each put, release, burial, kick and deletion, as beanstalkd does in its binlog. */
export class DurableJobs implements DiskPart, JobWriter {
  private readonly jobs = new Set<Job>();
  private readonly gone: string[] = [];
  private lastId = 0;
  private writtenId = 0;

  constructor(
    readonly disk: Disk,
    private readonly clock: Clock,
  ) {}

  /** Loads the jobs on disk into the store, before anybody uses it. Rejects with `DQ_DISK`. */
  async load(store: JobStore): Promise<void> {
    const { disk } = this;
    const now = this.clock.now();
    const wall = disk.now();
    const states = new Map<string, Buffer>();
    await disk.read(STATE, (id, value) => void states.set(id, value));
    await disk.read(JOB, (id, value) => {
      const job = readJob(Number(id), value, store.tubes, now - wall);
      const state = states.get(id);
      if (state) readState(job, state, now - wall);
      job.onDisk = state ? 'job and state' : 'job';
      store.restore(job);
    });
    await disk.read(LAST_ID, (_rest, value) => {
      this.lastId = this.writtenId = Number(value.toString('latin1', VALUE));
    });
    store.restoreIds(this.lastId);
    disk.add(this);
  }

  changed(job: Job): void {
    this.jobs.add(job);
    this.lastId = Math.max(this.lastId, job.id);
    this.disk.changed();
  }

  removed(job: Job): void {
    this.jobs.delete(job);
    if (job.onDisk !== 'not') this.gone.push(JOB + digits(job.id));
    if (job.onDisk === 'job and state') this.gone.push(STATE + digits(job.id));
    this.disk.changed();
  }

  collect(batch: DiskBatch): void {
    const offset = this.disk.now() - this.clock.now();
    for (const job of this.jobs) {
      if (job.onDisk === 'not') {
        batch.put(JOB + digits(job.id), jobValue(job, offset));
        job.onDisk = 'job';
      } else {
        batch.put(STATE + digits(job.id), stateValue(job, offset));
        job.onDisk = 'job and state';
      }
    }
    this.jobs.clear();
    for (const key of this.gone.splice(0)) batch.delete(key);
    if (this.lastId === this.writtenId) return;
    batch.putText(LAST_ID, String(this.lastId));
    this.writtenId = this.lastId;
  }
}

function digits(id: number): string {
  return String(id).padStart(ID_DIGITS, '0');
}

function jobValue(job: Job, offset: number): Buffer {
  const { name } = job.tube;
  const value = allocate(STATE_SIZE_BYTES + FIXED_SIZE_BYTES + name.length + job.body.length);
  let at = writeState(value, job, offset);
  at = value.writeUInt32LE(job.ttr, at);
  at = value.writeDoubleLE(job.createdAt + offset, at);
  at = value.writeUInt8(name.length, at);
  at += value.write(name, at, 'latin1');
  value.write(job.body, at, 'latin1');
  return value;
}

function readJob(id: number, value: Buffer, tubes: Tubes, offset: number): Job {
  let at = VALUE + STATE_SIZE_BYTES;
  const ttr = value.readUInt32LE(at);
  const createdAt = value.readDoubleLE(at + 4) + offset;
  const bodyAt = at + FIXED_SIZE_BYTES + value.readUInt8(at + 12);
  at += FIXED_SIZE_BYTES;
  const tube = tubes.findOrMake(value.toString('latin1', at, bodyAt));
  const job = new Job(id, tube, 0, 0, ttr, createdAt);
  job.body = value.toString('latin1', bodyAt);
  readState(job, value, offset);
  return job;
}

function stateValue(job: Job, offset: number): Buffer {
  const value = allocate(STATE_SIZE_BYTES);
  writeState(value, job, offset);
  return value;
}

function writeState(value: Buffer, job: Job, offset: number): number {
  const { state, deadline } = job;
  const code = state === 'delayed' ? 1 : state === 'buried' ? 2 : 0;
  let at = value.writeUInt8(code, VALUE);
  at = value.writeUInt32LE(job.pri, at);
  at = value.writeUInt32LE(job.delay, at);
  at = value.writeDoubleLE(state === 'delayed' ? deadline + offset : 0, at);
  at = value.writeDoubleLE(job.burial, at);
  for (const counter of COUNTERS) at = value.writeUInt32LE(job[counter], at);
  return at;
}

function readState(job: Job, value: Buffer, offset: number): void {
  job.state = STATES[value.readUInt8(VALUE)] ?? 'ready';
  job.pri = value.readUInt32LE(VALUE + 1);
  job.delay = value.readUInt32LE(VALUE + 5);
  job.deadline = value.readDoubleLE(VALUE + 9) + offset;
  job.burial = value.readDoubleLE(VALUE + 17);
  COUNTERS.forEach((counter, i) => (job[counter] = value.readUInt32LE(VALUE + 25 + 4 * i)));
}
