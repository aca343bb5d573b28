import { Heap, type HeapItem } from 'nest-handlers/time';

/** `incoming`: announced by a put whose body hasn't arrived yet; nobody can see it. */
type JobState = 'incoming' | 'ready' | 'delayed' | 'reserved' | 'buried';

/** One job. Times are milliseconds of Clock.now. */
export class Job implements HeapItem {
  heapIndex = -1;
  state: JobState = 'incoming';
  /** latin1, one character per byte. */
  body = '';
  /** When a delayed job is due, or the time to run of a reserved one ends. */
  deadline = 0;
  /** Rank of a buried job among all burials of this node. */
  burial = 0;
  /** Rank of a reserved job among all reservations of this node. */
  reservation = 0;
  reserver: Reserver | undefined;
  /** The part of it that is on disk, or on its way there. */
  onDisk: 'not' | 'job' | 'job and state' = 'not';
  reserves = 0;
  timeouts = 0;
  releases = 0;
  buries = 0;
  kicks = 0;

  constructor(
    readonly id: number,
    readonly tube: Tube,
    public pri: number,
    /** Delay of the last put or release, in seconds. */
    public delay: number,
    /** Time to run, in seconds. */
    readonly ttr: number,
    readonly createdAt: number,
  ) {}
}

/** A client that reserves jobs. */
export interface Reserver {
  /** The jobs it holds, earliest deadline first. */
  readonly held: Heap<Job>;
  readonly watched: readonly Tube[];
  /** Hands it the job it waited for, which is reserved already. */
  give(job: Job): void;
}

/** Jobs with a smaller priority number count as urgent. */
const URGENT_BELOW = 1024;

/** The jobs of one name that nobody holds, in order, and the clients that wait for one. */
export class Tube implements Sleeper {
  heapIndex = -1;
  wakeAt = Infinity;
  /** Its index among all tubes. */
  place = 0;

  readonly ready = new Heap<Job>(readyBefore);
  readonly delayed = new Heap<Job>(dueBefore);
  /** In order of burial. */
  readonly buried = new Heap<Job>((a, b) => a.burial < b.burial);
  /** First come, first served. */
  readonly waiting = new Set<Reserver>();

  /** Time by Clock.now until which no job is handed out; undefined while not paused. */
  pausedUntil: number | undefined;
  pauseSeconds = 0;

  /** Connections that put here, connections that watch, and jobs in any state. The tube vanishes when all are 0. */
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

  /** The next job to hand out, unless the tube is paused. */
  available(): Job | undefined {
    return this.pausedUntil === undefined ? this.ready.peek() : undefined;
  }

  /** When the tube changes without a command: a job comes due, or a pause ends. */
  nextEvent(): number {
    return Math.min(this.delayed.peek()?.deadline ?? Infinity, this.pausedUntil ?? Infinity);
  }
}

export function readyBefore(a: Job, b: Job): boolean {
  return a.pri < b.pri || (a.pri === b.pri && a.id < b.id);
}

/** The order of delayed and of reserved jobs. */
export function dueBefore(a: Job, b: Job): boolean {
  return a.deadline < b.deadline || (a.deadline === b.deadline && a.id < b.id);
}

/** All existing tubes: `default`, and those that are used, watched or hold a job. */
export class Tubes {
  /** In beanstalkd's listing order: the last takes the place of one that leaves. */
  readonly all: Tube[] = [];
  private readonly byName = new Map<string, Tube>();
  readonly default = this.findOrMake('default');

  find(name: string): Tube | undefined {
    return this.byName.get(name);
  }

  findOrMake(name: string): Tube {
    const found = this.byName.get(name);
    if (found) return found;
    const tube = new Tube(name);
    this.byName.set(name, tube);
    tube.place = this.all.push(tube) - 1;
    return tube;
  }

  /** Call it when a tube lost a user, a watcher or a job. Returns true if it is gone now. */
  dropIfUnused(tube: Tube): boolean {
    if (tube.using > 0 || tube.watching > 0 || tube.jobs > 0 || tube === this.default) return false;
    this.byName.delete(tube.name);
    const last = this.all.pop()!;
    if (last !== tube) {
      this.all[tube.place] = last;
      last.place = tube.place;
    }
    return true;
  }
}

/** Something to be woken at a time. */
export interface Sleeper extends HeapItem {
  /** Wake time by Clock.now; Infinity for never. Only set by `Alarms.set`. */
  wakeAt: number;
}

/** When each sleeper wakes; the node needs one timer for the earliest of all. */
export class Alarms<T extends Sleeper> {
  private readonly heap = new Heap<T>((a, b) => a.wakeAt < b.wakeAt);

  /** Infinity if nobody is to be woken. */
  get next(): number {
    return this.heap.peek()?.wakeAt ?? Infinity;
  }

  /** A sleeper whose time has come; the same one again, until its alarm is reset. */
  due(now: number): T | undefined {
    const first = this.heap.peek();
    return first && first.wakeAt <= now ? first : undefined;
  }

  set(sleeper: T, at: number): void {
    if (sleeper.wakeAt === at) return;
    sleeper.wakeAt = at;
    if (at === Infinity) this.heap.remove(sleeper);
    else if (sleeper.heapIndex < 0) this.heap.add(sleeper);
    else this.heap.update(sleeper);
  }
}
