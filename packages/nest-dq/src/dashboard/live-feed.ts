import { detached } from 'nest-handlers/context';
import { toError } from '../errors.js';
import { withinLimit } from '../time/call-limit.js';
import type { Clock, Timer } from 'nest-handlers/time';
import type { StreamedAnswer } from './http.js';
import { keepKnown, type Known } from './last-known.js';
import type { LivePart, LiveWire } from './wire.js';

/** Pause between two looks. */
const BETWEEN_LOOKS_MS = 2_000;
/** Time limit of a part; beyond it the part is reported as unreadable. So a viewer hears something every 6 s, whatever is away. */
const PART_LIMIT_MS = 3_000;
/** Longest stream. The page then reconnects, so guards and `access` check its viewer again. */
const LONGEST_STREAM_MS = 15_000;
/** Time until a browser reconnects. */
const RECONNECT_MS = 2_000;

/** Reads each part of a state. */
export type AskParts = Readonly<Record<LivePart, () => Promise<unknown>>>;

/** Finds the problems in what was read; a part that couldn't be read is null. Never rejects. */
export type Judge = (parts: Readonly<Record<LivePart, unknown>>) => Promise<unknown>;

/** The answer to a listening viewer. */
export type LiveStream = Pick<StreamedAnswer, 'open' | 'write' | 'end' | 'gone' | 'isBehind'>;

/** Reads one part. A read in progress isn't repeated. */
class Part {
  private pending: Promise<unknown> | undefined;

  constructor(
    private readonly ask: () => Promise<unknown>,
    private readonly clock: Clock,
  ) {}

  read(): Promise<unknown> {
    this.pending ??= this.ask().finally(() => (this.pending = undefined));
    return withinLimit(this.clock, PART_LIMIT_MS, this.pending);
  }
}

/** Looks at the cluster while somebody watches, and sends all viewers the same. */
export class LiveFeed {
  private readonly viewers = new Map<LiveStream, Timer>();
  private readonly parts: Readonly<Record<LivePart, Part>>;
  private next: Timer | undefined;
  private looking = false;
  /** The last message sent; undefined while nobody watches. */
  private latest: string | undefined;
  /** Outlives the viewers. */
  private known: Known | undefined;
  private closed = false;

  constructor(
    ask: AskParts,
    /** Ledger time in ms, which the page compares with due times. */
    private readonly now: () => number,
    private readonly clock: Clock,
    private readonly judge: Judge,
  ) {
    this.parts = {
      tubes: new Part(ask.tubes, clock),
      nodes: new Part(ask.nodes, clock),
      ledger: new Part(ask.ledger, clock),
      processes: new Part(ask.processes, clock),
      acts: new Part(ask.acts, clock),
      health: new Part(ask.health, clock),
    };
  }

  /** Sends the current state at once, and then each new one until the stream is left. */
  join(stream: LiveStream): void {
    stream.open('text/event-stream; charset=utf-8');
    if (this.closed || stream.gone) return stream.end();
    stream.write(`retry: ${RECONNECT_MS}\n\n`);
    this.viewers.set(
      stream,
      this.clock.after(LONGEST_STREAM_MS, () => {
        stream.write('event: again\ndata: -\n\n'); // so that the page takes the end for no failure
        stream.end();
      }),
    );
    if (this.latest !== undefined) stream.write(this.latest);
    else if (!this.looking) detached(() => void this.look()); // it looks for all viewers
  }

  leave(stream: LiveStream): void {
    this.viewers.get(stream)?.cancel();
    this.viewers.delete(stream);
    if (this.viewers.size === 0) this.rest();
  }

  /** Ends all streams: an open one would keep the server from closing. Idempotent. */
  close(): void {
    this.closed = true;
    for (const stream of this.viewers.keys()) {
      stream.end();
      this.leave(stream);
    }
  }

  private rest(): void {
    this.next?.cancel();
    this.latest = undefined;
  }

  /** Never rejects. */
  private async look(): Promise<void> {
    this.looking = true;
    const data = await this.state();
    this.looking = false;
    if (this.viewers.size === 0) return;
    this.latest = `event: state\ndata: ${data}\n\n`;
    this.send(this.latest);
    this.next = this.clock.after(BETWEEN_LOOKS_MS, () => void this.look());
  }

  private async state(): Promise<string> {
    const errors: { [P in LivePart]?: string } = {};
    const read = async (name: LivePart) => {
      try {
        return [name, await this.parts[name].read()] as const;
      } catch (thrown) {
        errors[name] = toError(thrown).message;
        return [name, null] as const;
      }
    };
    const answers = await Promise.all((Object.keys(this.parts) as LivePart[]).map(read));
    const parts = Object.fromEntries(answers) as Record<LivePart, unknown>;
    const problems = await this.judge(parts);
    const now = new Date(this.now()).toISOString();
    const failed = Object.keys(errors).length > 0;
    // As it is sent, but for Dates, of which it reads none.
    const state = { now, ...parts, problems, ...(failed && { errors }) } as unknown as LiveWire;
    this.known = keepKnown(this.known, state);
    return JSON.stringify(this.known);
  }

  /** Each state is complete, so a slow viewer may skip some. */
  private send(text: string): void {
    for (const stream of this.viewers.keys()) {
      if (!stream.isBehind) stream.write(text);
    }
  }
}
