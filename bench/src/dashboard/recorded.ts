import type { Browser } from 'playwright-core';
import { pause } from '../waiting.js';
import { ACTS, openHeaviest } from './looks.js';

/** Milliseconds between two acts. */
const BETWEEN = 600;
/** Each act is done so often: long enough for what pages ask again by themselves, every five seconds. */
const TIMES = 3;

/** A request that a page made by itself, or for an act, after it was opened. */
export interface RecordedRequest {
  /** Milliseconds after the start of the recording. */
  readonly at: number;
  readonly url: string;
}

/** The requests of three viewers. */
export interface Recorded {
  /** Length of the recording in ms. */
  readonly length: number;
  /** Streams of events, which stay open. */
  readonly streams: readonly string[];
  /** Oldest first. */
  readonly requests: readonly RecordedRequest[];
}

/** Records what the three pages with the most on them ask in a browser, while a viewer acts on each. */
export async function record(browser: Browser, url: string): Promise<Recorded> {
  const streams: string[] = [];
  const seen: { readonly time: number; readonly url: string }[] = [];
  const pages = await openHeaviest(browser, url, (request) => {
    if (request.resourceType() === 'eventsource') streams.push(request.url());
    else seen.push({ time: performance.now(), url: request.url() });
  });
  const start = performance.now();
  for (let i = 0; i < TIMES * ACTS.length; i++) {
    const { on, act } = ACTS[i % ACTS.length]!;
    await act(pages.get(on)!);
    await pause(BETWEEN);
  }
  const length = performance.now() - start;
  const requests = seen
    .filter(({ time }) => time >= start && time < start + length)
    .map(({ time, url: asked }) => ({ at: time - start, url: asked }));
  await Promise.all([...pages.values()].map((page) => page.context().close()));
  return { length, streams, requests };
}
