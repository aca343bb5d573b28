import { Program } from '../program.js';
import type { Recorded } from './recorded.js';

/** The argument of the viewers, as JSON. */
export type ViewersArguments = Recorded;

/** Report sent by the viewers at their start and after each answer. */
export interface ViewersReport {
  /** How many answers they had up to now, besides events. */
  readonly answers: number;
}

export interface Watched<T> {
  readonly result: T;
  readonly answers: number;
}

/** Resolves with the result of `measure`, while the requests of three viewers are made again. */
export async function whileWatched<T>(recorded: Recorded, measure: () => Promise<T>): Promise<Watched<T>> {
  const given: ViewersArguments = recorded;
  const viewers = await Program.start<ViewersReport>('dashboard/viewers-main.js', given);
  try {
    return { result: await measure(), answers: viewers.reports.at(-1)!.answers };
  } finally {
    await viewers.end();
  }
}
