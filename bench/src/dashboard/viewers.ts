import { Program } from '../program.js';

/** The argument of the viewers, as JSON. */
export interface ViewersArguments {
  /** Of the dashboard, with a `/` at its end. */
  readonly url: string;
}

/** What they tell once their pages are there, and after each act. */
export interface ViewersReport {
  /** What they did up to now: zooms, next pages, searches. */
  readonly acts: number;
}

export interface Watched<T> {
  readonly result: T;
  readonly acts: number;
}

/** Resolves with the result of `measure`, while three viewers look at the pages with the most on them. */
export async function whileWatched<T>(url: string, measure: () => Promise<T>): Promise<Watched<T>> {
  const given: ViewersArguments = { url };
  const viewers = await Program.start<ViewersReport>('dashboard/viewers-main.js', given);
  try {
    return { result: await measure(), acts: viewers.reports.at(-1)!.acts };
  } finally {
    await viewers.end();
  }
}
