import { toError } from '../errors.js';
import { withinLimit } from '../ledger/call-limit.js';
import type { DqRuntime } from '../nest/runtime.js';
import { systemClock, type Timer } from '../time/clock.js';
import type { StreamedAnswer } from './http.js';
import type { LivePart } from './wire.js';

/** Milliseconds. */
const BETWEEN_LOOKS = 2_000;
const BETWEEN_HEARTBEATS = 15_000;
/** A part that takes longer is told as one that cannot be read. */
const PART_LIMIT = 3_000;
/** A viewer connects anew by himself after it, and so is asked again who he is. */
const LONGEST_STREAM = 300_000;
/** Milliseconds until a browser connects anew. */
const RECONNECT = 2_000;

/** Asks for one thing. A question that takes long is not asked a second time. */
class Part {
  private pending: Promise<unknown> | undefined;

  constructor(private readonly ask: () => Promise<unknown>) {}

  read(): Promise<unknown> {
    this.pending ??= this.ask().finally(() => (this.pending = undefined));
    return withinLimit(systemClock, PART_LIMIT, this.pending);
  }
}

/** Looks at the cluster while somebody wants to know, and tells all viewers the same. */
export class LiveFeed {
  private readonly viewers = new Map<StreamedAnswer, Timer>();
  private readonly parts: Readonly<Record<LivePart, Part>>;
  private next: Timer | undefined;
  private heartbeat: Timer | undefined;
  private looking = false;
  /** What was told last; undefined while nobody looks. */
  private latest: string | undefined;
  private closed = false;

  constructor({ inspector, health }: Pick<DqRuntime, 'inspector' | 'health'>) {
    this.parts = {
      tubes: new Part(() => inspector.tubes()),
      nodes: new Part(() => inspector.nodes()),
      ledger: new Part(() => inspector.ledger()),
      processes: new Part(() => inspector.processes()),
      health: new Part(async () => (await health.check()).dq),
    };
  }

  /** The stream gets the present state at once, and then each new one until it is left. */
  join(stream: StreamedAnswer): void {
    stream.open('text/event-stream; charset=utf-8');
    if (this.closed || stream.gone) return stream.end();
    stream.write(`retry: ${RECONNECT}\n\n`);
    this.viewers.set(
      stream,
      systemClock.after(LONGEST_STREAM, () => stream.end()),
    );
    if (this.latest !== undefined) stream.write(this.latest);
    else if (!this.looking) void this.look();
    this.heartbeat ??= systemClock.after(BETWEEN_HEARTBEATS, () => this.beat());
  }

  leave(stream: StreamedAnswer): void {
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
    this.heartbeat?.cancel();
    this.heartbeat = undefined;
    this.latest = undefined;
  }

  private beat(): void {
    this.tell(': still here\n\n');
    this.heartbeat = systemClock.after(BETWEEN_HEARTBEATS, () => this.beat());
  }

  /** Never rejects. */
  private async look(): Promise<void> {
    this.looking = true;
    const data = await this.state();
    this.looking = false;
    if (this.viewers.size === 0) return;
    this.latest = `event: state\ndata: ${data}\n\n`;
    this.tell(this.latest);
    this.next = systemClock.after(BETWEEN_LOOKS, () => void this.look());
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
    const parts = await Promise.all((Object.keys(this.parts) as LivePart[]).map(read));
    const now = new Date(systemClock.wall()).toISOString();
    const failed = Object.keys(errors).length > 0;
    return JSON.stringify({ now, ...Object.fromEntries(parts), ...(failed && { errors }) });
  }

  /** Each state is complete, so one who is behind may miss some. */
  private tell(text: string): void {
    for (const stream of this.viewers.keys()) {
      if (!stream.isBehind) stream.write(text);
    }
  }
}
