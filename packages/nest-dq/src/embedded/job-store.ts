import { Alarms, Job, readyBefore, type Reserver, type Tube, Tubes } from './tubes.js';
import type { Clock } from 'nest-handlers/time';

/** Approximate memory of a job in addition to its body. */
const JOB_OVERHEAD_BYTES = 300;

/** Writes whatever must survive a restart. */
export interface JobWriter {
  /** The job was put, or its state or priority changed. */
  changed(job: Job): void;
  removed(job: Job): void;
}

/** The jobs, and all their state changes. Gives each ready job to the first client that waits for it. */
export class JobStore {
  readonly tubes = new Tubes();
  private readonly jobs = new Map<number, Job>();
  private readonly alarms = new Alarms<Tube>();
  private lastId = 0;
  private lastBurial = 0;
  private lastReservation = 0;
  totalJobs = 0;
  timeouts = 0;
  private bodies = 0;

  constructor(
    private readonly clock: Clock,
    private readonly writer?: JobWriter,
  ) {}

  /** When to call `wake`; Infinity if never. */
  get nextEvent(): number {
    return this.alarms.next;
  }

  /** Number of jobs. */
  get size(): number {
    return this.jobs.size;
  }

  /** Estimated memory after adding a body of `size` bytes, in bytes. */
  memoryWith(size: number): number {
    return this.bodies + size + (this.jobs.size + 1) * JOB_OVERHEAD_BYTES;
  }

  find(id: number): Job | undefined {
    return this.jobs.get(id);
  }

  /** All jobs by id. An iteration may be interrupted: it then includes jobs put meanwhile. */
  all(): Iterable<Job> {
    return this.jobs.values();
  }

  /** Announces a job, to be followed by `put` with its body, or by `discard`. */
  announce(tube: Tube, pri: number, delay: number, ttr: number): Job {
    tube.jobs++;
    return new Job(++this.lastId, tube, pri, delay, Math.max(ttr, 1), this.clock.now());
  }

  put(job: Job, body: string): void {
    job.body = body;
    this.keep(job);
    job.tube.totalJobs++;
    this.totalJobs++;
    this.enqueue(job, job.delay);
    this.writer?.changed(job);
  }

  /** Restores a job of an earlier process as ready, delayed or buried; its id counts as assigned. */
  restore(job: Job): void {
    this.keep(job);
    job.tube.jobs++;
    this.restoreIds(job.id);
    if (job.state === 'buried') {
      this.lastBurial = Math.max(this.lastBurial, job.burial);
      job.tube.buried.add(job);
    } else if (job.state === 'delayed') {
      job.tube.delayed.add(job);
      this.setAlarm(job.tube);
    } else {
      job.tube.addReady(job);
    }
  }

  /** Marks ids up to this one as assigned, so that they aren't assigned again. */
  restoreIds(lastId: number): void {
    this.lastId = Math.max(this.lastId, lastId);
  }

  /** Removes a job from its tube: its body won't come, or it is deleted. */
  discard(job: Job): void {
    job.tube.jobs--;
    this.dropTubeIfUnused(job.tube);
  }

  /** Reserves the best job of the watched tubes, if there is any. */
  reserveNext(reserver: Reserver): Job | undefined {
    let best: Job | undefined;
    for (const tube of reserver.watched) {
      const job = tube.available();
      if (job && (!best || readyBefore(job, best))) best = job;
    }
    if (best) this.reserve(best, reserver);
    return best;
  }

  /** Reserves a job that nobody holds. */
  reserve(job: Job, reserver: Reserver): void {
    if (job.state !== 'ready') this.writer?.changed(job);
    this.detach(job);
    job.state = 'reserved';
    job.reserver = reserver;
    job.reserves++;
    job.reservation = ++this.lastReservation;
    job.deadline = this.clock.now() + job.ttr * 1000;
    job.tube.reserved++;
    reserver.held.add(job);
  }

  touch(job: Job): void {
    job.deadline = this.clock.now() + job.ttr * 1000;
    job.reserver?.held.update(job);
  }

  release(job: Job, pri: number, delay: number): void {
    this.detach(job);
    job.pri = pri;
    job.delay = delay;
    job.releases++;
    this.enqueue(job, delay);
    this.writer?.changed(job);
  }

  /** Takes a job back from a session that is gone. */
  giveBack(job: Job): void {
    this.detach(job);
    this.enqueue(job, 0);
  }

  /** Takes back a job whose time to run is over. */
  expire(job: Job): void {
    job.timeouts++;
    this.timeouts++;
    this.giveBack(job);
  }

  bury(job: Job, pri: number): void {
    this.detach(job);
    job.pri = pri;
    job.state = 'buried';
    job.buries++;
    job.burial = ++this.lastBurial;
    job.tube.buried.add(job);
    this.writer?.changed(job);
  }

  /** Makes a buried or delayed job ready. */
  kick(job: Job): void {
    this.detach(job);
    job.kicks++;
    this.enqueue(job, 0);
    this.writer?.changed(job);
  }

  /** Kicks at most `count` jobs: buried ones if there are any, otherwise delayed ones. Returns the number kicked. */
  kickMany(tube: Tube, count: number): number {
    const jobs = tube.buried.size > 0 ? tube.buried : tube.delayed;
    let kicked = 0;
    for (let job = jobs.peek(); job && kicked < count; job = jobs.peek()) {
      this.kick(job);
      kicked++;
    }
    return kicked;
  }

  delete(job: Job): void {
    this.detach(job);
    this.jobs.delete(job.id);
    this.bodies -= job.body.length;
    this.writer?.removed(job);
    job.tube.deletes++;
    this.discard(job);
  }

  /** Hands out no jobs of the tube for `seconds`; 0 ends a pause. Delayed jobs still become ready. */
  pause(tube: Tube, seconds: number): void {
    tube.pauses++;
    tube.pauseSeconds = seconds;
    tube.pausedUntil = this.clock.now() + seconds * 1000;
    if (seconds === 0) this.unpause(tube);
    this.setAlarm(tube);
  }

  /** Call it when a tube lost a user or a watcher. */
  dropTubeIfUnused(tube: Tube): void {
    if (this.tubes.dropIfUnused(tube)) this.alarms.set(tube, Infinity);
  }

  /** Handles what is due in the tubes. */
  wake(now: number): void {
    for (let tube = this.alarms.due(now); tube; tube = this.alarms.due(now)) {
      const job = tube.delayed.peek();
      if (job && job.deadline <= now) {
        this.detach(job);
        this.enqueue(job, 0);
      } else {
        this.unpause(tube);
        this.setAlarm(tube);
      }
    }
  }

  private keep(job: Job): void {
    this.jobs.set(job.id, job);
    this.bodies += job.body.length;
  }

  private unpause(tube: Tube): void {
    tube.pausedUntil = undefined;
    tube.pauseSeconds = 0;
    this.serve(tube);
  }

  private enqueue(job: Job, delay: number): void {
    if (delay > 0) {
      job.state = 'delayed';
      job.deadline = this.clock.now() + delay * 1000;
      job.tube.delayed.add(job);
      this.setAlarm(job.tube);
    } else {
      job.state = 'ready';
      job.tube.addReady(job);
      this.serve(job.tube);
    }
  }

  /** No job stays ready while somebody waits for it: call this wherever a job becomes ready. */
  private serve(tube: Tube): void {
    for (let job = tube.available(); job; job = tube.available()) {
      const first = tube.waiting.values().next().value;
      if (!first) return;
      this.reserve(job, first);
      first.give(job);
    }
  }

  /** Removes a job from the structure that belongs to its state. */
  private detach(job: Job): void {
    const { tube } = job;
    switch (job.state) {
      case 'ready':
        tube.removeReady(job);
        break;
      case 'delayed':
        tube.delayed.remove(job);
        this.setAlarm(tube);
        break;
      case 'buried':
        tube.buried.remove(job);
        break;
      case 'reserved':
        job.reserver?.held.remove(job);
        job.reserver = undefined;
        tube.reserved--;
        break;
      case 'incoming':
        break;
    }
  }

  private setAlarm(tube: Tube): void {
    this.alarms.set(tube, tube.nextEvent());
  }
}
