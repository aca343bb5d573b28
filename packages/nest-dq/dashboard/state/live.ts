import { computed, signal } from '@preact/signals';
import { keepKnown, type Known } from '../../src/dashboard/last-known.js';
import type { LiveWire } from '../../src/dashboard/wire.js';
import { urlOf } from '../server/address.js';

/** `hidden`: nobody looks at this tab, so it listens to nothing. */
export type LiveState = 'connecting' | 'open' | 'lost' | 'hidden';

/** The cluster, with the last known values in place of those that can't be read now. */
export const live = signal<Known | undefined>(undefined);
export const liveState = signal<LiveState>('connecting');
/** When the connection was lost, by the server's clock. Undefined while the page hears from the server, or doesn't listen. */
export const cutSince = signal<number | undefined>(undefined);
/** Counts how often something that was away came back: whoever failed meanwhile tries again. */
export const recovered = signal(0);
/** Counts how often the ledger went away: what is shown is read again, so that it gets its age where that fails. */
export const fell = signal(0);

/** Milliseconds by which the server's clock is ahead of the browser's. */
const ahead = signal(0);
const tick = signal(Date.now());

/** The time of the server, to a second. */
export const now = computed(() => tick.value + ahead.value);

/** Number of dead letters in all tubes. */
export const deadLetters = computed(() =>
  (live.value?.tubes?.tubes ?? []).reduce((sum, { dead = 0 }) => sum + dead, 0),
);

/** The time of what is known: the present, or when the connection was lost. */
export const knownAt = computed(() => cutSince.value ?? now.value);

/** Milliseconds. EventSource itself gives up after an answer that is no stream, such as a proxy's 502. */
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;
/** Milliseconds. The server sends a state every six seconds at the latest, so a longer silence means that it stands still. */
const LONGEST_SILENCE_MS = 8_000;
/** Milliseconds in which a connection may come back without a word: the server ends each one from time to time. */
const GRACE_MS = 4_000;

let source: EventSource | undefined;
let timer: ReturnType<typeof setTimeout> | undefined;
let cutTimer: ReturnType<typeof setTimeout> | undefined;
let pause = FIRST_PAUSE_MS;

/** Why acts can't work now; undefined if they can. Those of Kafka need no ledger. */
export function blockedBy(): 'connection' | 'ledger' | undefined {
  if (cutSince.value !== undefined) return 'connection';
  return isLedgerAway(live.value) ? 'ledger' : undefined;
}

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
  openIn(LONGEST_SILENCE_MS, true);
  tick.value = Date.now();
  liveState.value = 'connecting';
  connect();
}

function connect(): void {
  source?.close();
  source = new EventSource(urlOf('api/live'));
  source.addEventListener('again', connect); // the server checks its viewers again and again
  source.addEventListener('state', ({ data }: MessageEvent<string>) => heard(JSON.parse(data) as LiveWire));
  source.addEventListener('error', () => {
    liveState.value = 'lost';
    cutTimer ??= setTimeout(cut, GRACE_MS);
    if (source?.readyState !== EventSource.CLOSED) return; // it connects again by itself
    openIn(pause);
    pause = Math.min(pause * 2, LONGEST_PAUSE_MS);
  });
}

function heard(state: LiveWire): void {
  const nodesBefore = nodesAway(live.value);
  const wasLedgerAway = isLedgerAway(live.value);
  const wasAway = cutSince.value !== undefined || wasLedgerAway;
  setNow(state.now);
  live.value = keepKnown(live.value, state);
  liveState.value = 'open';
  pause = FIRST_PAUSE_MS;
  uncut();
  openIn(LONGEST_SILENCE_MS, true);
  if ((wasAway && !isLedgerAway(state)) || nodesAway(state) < nodesBefore) recovered.value++;
  if (!wasLedgerAway && isLedgerAway(state)) fell.value++;
}

/** Reconnects after `ms`, unless a message arrives first. */
function openIn(ms: number, isSilent = false): void {
  clearTimeout(timer);
  timer = setTimeout(() => {
    if (isSilent) cut();
    open();
  }, ms);
}

function cut(): void {
  const at = live.value ? Date.parse(live.value.now) : now.value;
  cutSince.value ??= at;
}

function uncut(): void {
  clearTimeout(cutTimer);
  cutTimer = undefined;
  cutSince.value = undefined;
}

function close(): void {
  clearTimeout(timer);
  uncut();
  source?.close();
  liveState.value = 'hidden';
}

function nodesAway(state: LiveWire | undefined): number {
  return state?.nodes?.filter(({ up }) => !up).length ?? 0;
}

function isLedgerAway(state: LiveWire | undefined): boolean {
  return state?.problems.cluster.some(({ code }) => code === 'ledger-down') ?? false;
}
