import type { Timetable } from '../lab.js';
import type { NewTask, ProducerSide } from '../producer-side.js';
import { atPace } from '../waiting.js';

/** The tubes of the application. */
export const TUBES = ['orders', 'mails', 'bills'] as const;
export type TubeName = (typeof TUBES)[number];

/** Milliseconds after its add that a job is due which is added meanwhile. */
const SOON = 500;
/** Waiting jobs in a group, of which one is revoked, one moved, one retried, and one has a key. */
const KINDS = 8;

export interface WorkloadSettings {
  readonly jobs: number;
  readonly sides: ReadonlyMap<TubeName, ProducerSide>;
  /** When the jobs are due. */
  readonly times: Timetable;
  /** It is in each payload, key, header and group. */
  readonly secret: string;
  /** Aborts when the user does. */
  readonly signal: AbortSignal;
}

interface Added {
  readonly tube: TubeName;
  readonly i: number;
  readonly job: number;
}

/** The application's work during the attack: half of its jobs wait first, and half are added meanwhile, in turn in all tubes. */
export class Workload {
  private readonly half: number;
  private added: Added[] = [];

  constructor(private readonly settings: WorkloadSettings) {
    this.half = Math.ceil(settings.jobs / 2);
  }

  /** None is due in the first third of the window, so that there is time to attack those that wait. */
  async addFirst(): Promise<void> {
    const { half } = this;
    const { times, signal } = this.settings;
    const atOnce = { from: 0, to: 0, signal };
    this.added = await atPace(half, atOnce, async (i) => {
      const tube = tubeOf(i);
      const { job } = await this.sideOf(tube).add(this.task(i, tube, times.at(0.3 + (0.7 * i) / half)));
      return { tube, i, job };
    });
  }

  /** Resolves when all is added, revoked and moved. */
  async goOn(): Promise<void> {
    const { half } = this;
    const { times, signal } = this.settings;
    const { begin: from, end: to } = times;
    const steady = { from, to, signal };
    const [revoked, moved] = [0, 1].map((kind) => this.added.filter(({ i }) => i % KINDS === kind));
    const early = { from, to: times.at(0.2), signal };
    await Promise.all([
      atPace(half, steady, (i) => {
        const tube = tubeOf(i);
        return this.sideOf(tube).add({
          ...this.task(half + i, tube, Date.now() + SOON),
          byDelay: i % 2 === 0,
        });
      }),
      atPace(revoked!.length, early, (i) => {
        const { tube, job } = revoked![i]!;
        return this.sideOf(tube).revoke(job);
      }),
      atPace(moved!.length, early, (i) => {
        const { tube, job } = moved![i]!;
        return this.sideOf(tube).reschedule(job, times.at(0.5 + (0.5 * i) / moved!.length));
      }),
    ]);
  }

  private sideOf(tube: TubeName): ProducerSide {
    return this.settings.sides.get(tube)!;
  }

  private task(i: number, tube: TubeName, due: number): NewTask {
    const secret = `${this.settings.secret} of ${tube}, number ${i}`;
    const kind = i % KINDS;
    return {
      due,
      secret,
      ...(kind === 2 && { acts: [{ end: 'fail' }, {}] as const }),
      options: {
        ...(kind === 2 && { attempts: 5, backoff: { type: 'fixed', delay: 500 } as const }),
        ...(kind === 3 && { key: secret }),
        ...(kind === 4 && { headers: { about: secret }, group: secret }),
      },
    };
  }
}

function tubeOf(i: number): TubeName {
  return TUBES[i % TUBES.length]!;
}
