import type { Browser } from 'playwright-core';
import { pause } from '../waiting.js';
import { ACTS, openHeaviest } from './looks.js';

/** Milliseconds between two acts. */
const BETWEEN = 600;
/** Each act is done so often: long enough for what pages ask again by themselves, every five seconds. */
const TIMES = 3;

/** A request that a page made by itself, or for an act. */
export interface RecordedRequest {
  /** Milliseconds after the start of the recording; 0 for those of the opening. */
  readonly at: number;
  readonly url: string;
}

/** What three viewers ask. */
export interface Recorded {
  /** Milliseconds. */
  readonly length: number;
  /** Streams of events, which stay open. */
  readonly streams: readonly string[];
  /** Oldest first. */
  readonly requests: readonly RecordedRequest[];
}

/** Records what the three pages with the most on them ask in a browser, while a viewer acts on each. */
export async function record(browser: Browser, url: string): Promise<Recorded> {
  const streams: string[] = [];
  const requests: RecordedRequest[] = [];
  let start: number | undefined;
  const pages = await openHeaviest(browser, url, (request) => {
    if (request.resourceType() === 'eventsource') streams.push(request.url());
    else if (start !== undefined) requests.push({ at: performance.now() - start, url: request.url() });
  });
  start = performance.now();
  for (let i = 0; i < TIMES * ACTS.length; i++) {
    const { on, act } = ACTS[i % ACTS.length]!;
    await act(pages.get(on)!);
    await pause(BETWEEN);
  }
  const recorded = { length: performance.now() - start, streams, requests: [...requests] };
  await Promise.all([...pages.values()].map((page) => page.context().close()));
  return recorded;
}
