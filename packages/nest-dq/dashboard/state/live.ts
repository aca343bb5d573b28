import { computed, signal } from '@preact/signals';
import type { LiveWire } from '../../src/dashboard/wire.js';
import { urlOf } from '../server/address.js';

/** `hidden`: nobody looks at this tab, so it listens to nothing. */
export type LiveState = 'connecting' | 'open' | 'lost' | 'hidden';

export const live = signal<LiveWire | undefined>(undefined);
export const liveState = signal<LiveState>('connecting');

/** Milliseconds by which the server's clock is ahead of the browser's. */
const ahead = signal(0);
const tick = signal(Date.now());

/** The time of the server, to a second. */
export const now = computed(() => tick.value + ahead.value);

/** Milliseconds. EventSource itself gives up after an answer that is no stream, such as a proxy's 502. */
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;
/** Milliseconds. The server tells a state every five seconds at the latest, so what is silent for longer is no connection. */
const LONGEST_SILENCE_MS = 15_000;

let source: EventSource | undefined;
let timer: ReturnType<typeof setTimeout> | undefined;
let pause = FIRST_PAUSE_MS;

/** Takes the time from the server. */
export function setNow(text: string): void {
  ahead.value = Date.parse(text) - Date.now();
}

/** Listens from now on, while the tab is seen. */
export function listen(): void {
  document.addEventListener('visibilitychange', () => (document.hidden ? close() : open()));
  setInterval(() => {
    if (!document.hidden) tick.value = Date.now();
  }, 1_000);
  if (document.hidden) close();
  else open();
}

function open(): void {
  openIn(LONGEST_SILENCE_MS);
  tick.value = Date.now();
  liveState.value = 'connecting';
  connect();
}

function connect(): void {
  source?.close();
  source = new EventSource(urlOf('api/live'));
  source.addEventListener('again', connect); // the server checks its viewers again and again
  source.addEventListener('state', ({ data }: MessageEvent<string>) => {
    const state = JSON.parse(data) as LiveWire;
    setNow(state.now);
    live.value = state;
    liveState.value = 'open';
    pause = FIRST_PAUSE_MS;
    openIn(LONGEST_SILENCE_MS);
  });
  source.addEventListener('error', () => {
    liveState.value = 'lost';
    if (source?.readyState !== EventSource.CLOSED) return; // it connects again by itself
    openIn(pause);
    pause = Math.min(pause * 2, LONGEST_PAUSE_MS);
  });
}

/** Reconnects after `ms`, unless a message arrives first. */
function openIn(ms: number): void {
  clearTimeout(timer);
  timer = setTimeout(open, ms);
}

function close(): void {
  clearTimeout(timer);
  source?.close();
  liveState.value = 'hidden';
}
