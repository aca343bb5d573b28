import type { Duplex } from 'node:stream';
import type { Disk } from '../disk/disk.js';
import { Client, type ClientNode } from './client.js';
import { type Command, parseCommand, type Verb } from './command-parser.js';
import type { Buffering, Buffers } from './buffers.js';
import type { MaybeIdle } from './listener.js';
import type { Job } from './tubes.js';
import type { TimeShares } from './time-shares.js';
import { TOO_LONG, WireReader } from './wire-reader.js';

/** Replies are written once a turn, or when they reach this many bytes. */
const WRITE_AT_BYTES = 64 * 1024;
/** Bytes a waiting session reads ahead, plus one chunk. */
const READ_AHEAD_BYTES = 64 * 1024;
/** Units of work after which a session asks whether it may continue. A line or a body counts as one, and so do this many bytes. */
const WORK_PER_LOOK = 8;
const BYTES_PER_WORK = 2 * 1024;
/** How long a client may read its replies after the end; then the connection is cut. */
const LINGER_MS = 1_000;

/** The node as its sessions see it. */
export interface SessionNode extends ClientNode {
  readonly commands: Partial<Record<Verb, number>>;
  /** Where the jobs are stored; absent if only in memory. */
  readonly disk?: Disk;
  readonly shares: TimeShares;
  /** Absent if the memory of connections isn't limited. */
  readonly buffers?: Buffers;
  /** Whether a job with a body of `size` bytes can be stored. */
  hasRoom(size: number): boolean;
  /** Calls `session.run` soon, but not within this call. */
  schedule(session: Session): void;
  closed(session: Session): void;
}

/**
 * One connection: bytes to commands to replies, strictly in order; commands after a waiting reserve wait too. Commands run only
 * inside `run`, which the node calls. Events only schedule the session, so its work never runs inside another's, and all its
 * replies of one turn make one write.
 */
export class Session implements Buffering, MaybeIdle {
  moves = 0;
  readonly client: Client;
  private readonly input = new WireReader();
  private inputEnded = false;
  private output = '';
  private outputFull = false;
  /** Present only with a disk. */
  private readonly held: HeldReplies | undefined;
  /** Others come first: this session neither runs nor reads before `openIfReady`. */
  private isInterrupted = false;
  /** Work done in this round since the last check. */
  private work = 0;
  private round = 0;
  private isClosed = false;
  /** A put that waits for its body; `size` without the CRLF. */
  private incoming: { job: Job; size: number } | undefined;
  /** Remaining bytes of a refused body, and the reply that follows them. */
  private toSkip = 0;
  private afterSkip = '';

  constructor(
    private readonly stream: Duplex,
    private readonly node: SessionNode,
    private readonly denied?: ReadonlySet<Verb>,
  ) {
    const schedule = () => node.schedule(this);
    this.client = new Client(node, (text) => this.reply(text), schedule);
    const { disk } = node;
    this.held =
      disk &&
      new HeldReplies(disk, {
        send: (replies) => this.send(replies),
        released: () => (this.isClosed ? this.end() : schedule()),
        lost: () => this.destroy(),
      });
    stream.on('data', (chunk: Buffer) => {
      if (this.isClosed) return;
      this.moves++;
      this.input.append(chunk);
      this.work += Math.floor(chunk.length / BYTES_PER_WORK);
      if (!this.mayRead) stream.pause();
      schedule();
    });
    stream.on('end', () => {
      this.inputEnded = true;
      schedule();
    });
    stream.on('drain', () => {
      this.moves++;
      this.outputFull = false;
      schedule();
    });
    stream.on('close', () => {
      this.close();
      node.buffers?.delete(this);
    });
  }

  /** Runs the received commands, unless something makes them wait; long work continues later. */
  run(): void {
    if (this.isInterrupted) return;
    this.held?.begin();
    while (!this.isClosed) {
      // As in beanstalkd, a client that has ended its input doesn't wait; but the commands it sent are executed.
      if (this.inputEnded) this.client.endWait('TIMED_OUT\r\n');
      if (this.output.length >= WRITE_AT_BYTES) this.write();
      if (this.isBlocked || !this.mayGoOn() || !this.step()) break;
      this.work++;
    }
    if (this.isClosed) return;
    if (this.inputEnded && !this.isBlocked && !this.isInterrupted) return this.close();
    this.write();
    this.client.setAlarm();
    this.input.trim();
    this.lookAtBuffers();
    if (this.mayRead && this.stream.isPaused()) this.stream.resume();
  }

  /** Continues the interrupted work. */
  resume(): void {
    this.isInterrupted = false;
    this.node.schedule(this);
  }

  /** Ends the connection after the replies so far, and releases the client's jobs at once. Idempotent. */
  close(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    if (this.incoming) this.node.store.discard(this.incoming.job);
    this.client.leave();
    this.node.shares.leave(this);
    this.node.closed(this);
    this.write();
    this.lookAtBuffers();
    this.end();
  }

  /** Closes, and cuts the connection whatever is in flight. */
  destroy(): void {
    this.stream.destroy();
    this.close();
  }

  /** Bytes of unread input and unsent replies. */
  get buffered(): number {
    return this.input.size + (this.held?.size ?? 0) + this.stream.writableLength;
  }

  /** Whether it waits for a job, works on one, or waits for replies that the disk holds back, rather than keeping the node waiting. */
  get mayBeSilent(): boolean {
    if (this.outputFull) return false;
    return this.client.isWaiting || this.client.held.size > 0 || this.held?.isEmpty === false;
  }

  private get isBlocked(): boolean {
    return this.client.isWaiting || this.outputFull || this.held?.isFull === true;
  }

  /** A waiting session keeps reading for a while, so that it notices when its client leaves. */
  private get mayRead(): boolean {
    return !this.isInterrupted && (!this.isBlocked || this.input.length <= READ_AHEAD_BYTES);
  }

  private mayGoOn(): boolean {
    const { shares } = this.node;
    if (this.round !== shares.round) {
      this.round = shares.round;
      this.work = 0;
    }
    if (this.work < WORK_PER_LOOK) return true;
    this.work = 0;
    if (shares.mayGoOn(this)) return true;
    this.isInterrupted = true;
    this.stream.pause();
    return false;
  }

  /** Ends the stream of a closed session, once all replies have been sent. */
  private end(): void {
    if (this.held?.isEmpty === false) return;
    this.stream.end();
    this.stream.resume(); // further input is read and dropped, so that its end is seen
    if (this.stream.destroyed) return;
    const cut = this.node.clock.after(LINGER_MS, () => this.stream.destroy());
    this.stream.once('close', () => cut.cancel());
  }

  /** Processes the next command or body of the input. Returns false if it hasn't arrived. */
  private step(): boolean {
    if (this.toSkip > 0) return this.skipBody();
    if (this.incoming) return this.readBody(this.incoming);
    const line = this.input.readLine();
    if (line === undefined) return false;
    const command = line === TOO_LONG ? 'BAD_FORMAT' : parseCommand(line);
    if (typeof command === 'string') this.reply(`${command}\r\n`);
    else this.execute(command);
    return true;
  }

  private execute(command: Command): void {
    const { commands } = this.node;
    if (this.denied?.has(command.verb)) return this.deny(command);
    commands[command.verb] = (commands[command.verb] ?? 0) + 1;
    if (command.verb === 'quit') {
      this.close();
    } else if (command.verb !== 'put') {
      this.client.execute(command);
    } else if (command.size > this.node.limits.maxJobSize) {
      this.skip(command.size, 'JOB_TOO_BIG\r\n');
    } else if (command.hasMore) {
      this.reply('BAD_FORMAT\r\n');
    } else {
      const job = this.client.announce(command.pri, command.delay, command.ttr);
      this.incoming = { job, size: command.size };
    }
  }

  /** As if the command didn't exist; but what follows a put is its body, not a command. */
  private deny(command: Command): void {
    const reply = 'UNKNOWN_COMMAND\r\n';
    if (command.verb === 'put' && !command.hasMore) this.skip(command.size, reply);
    else this.reply(reply);
  }

  private readBody({ job, size }: { job: Job; size: number }): boolean {
    const { input, node } = this;
    if (input.length < size + 2) return false;
    this.incoming = undefined;
    const body = input.read(size);
    const isComplete = input.read(2) === '\r\n';
    const refusal = isComplete ? this.refusalOf(size) : 'EXPECTED_CRLF\r\n';
    if (refusal === undefined) {
      node.store.put(job, body);
      this.reply(`INSERTED ${job.id}\r\n`);
    } else {
      node.store.discard(job);
      this.reply(refusal);
    }
    return true;
  }

  private refusalOf(size: number): string | undefined {
    if (this.node.isDraining) return 'DRAINING\r\n';
    return this.node.hasRoom(size) ? undefined : 'OUT_OF_MEMORY\r\n';
  }

  private skip(size: number, reply: string): void {
    this.toSkip = size + 2;
    this.afterSkip = reply;
  }

  private skipBody(): boolean {
    this.toSkip -= this.input.skip(this.toSkip);
    if (this.toSkip > 0) return false;
    this.reply(this.afterSkip);
    return true;
  }

  private reply(text: string): void {
    this.output += text;
  }

  private lookAtBuffers(): void {
    if (!this.stream.destroyed) this.node.buffers?.look(this);
  }

  private write(): void {
    const { output } = this;
    if (output === '') return;
    this.output = '';
    if (this.held) this.held.add(output);
    else this.send(output);
  }

  private send(replies: string): void {
    if (!this.stream.destroyed) this.outputFull = !this.stream.write(replies, 'latin1');
  }
}

/** While more bytes than this are held, a session executes no further commands. */
const MAX_HELD_BYTES = 64 * 1024;

interface HeldRepliesEvents {
  /** Sends these replies. */
  send(replies: string): void;
  /** Some replies have been sent. */
  released(): void;
  /** The replies will never be sent: the changes they confirm aren't on disk. */
  lost(): void;
}

/** Holds the replies of one session, in order: one that confirms a change, and all after it, until the change is on disk. */
class HeldReplies {
  private readonly held: { readonly replies: string; readonly change: number }[] = [];
  /** Number of held bytes. */
  size = 0;
  private seen = 0;
  /** The latest change made by this session. */
  private change = 0;

  constructor(
    private readonly disk: Disk,
    private readonly events: HeldRepliesEvents,
  ) {}

  get isEmpty(): boolean {
    return this.held.length === 0;
  }

  get isFull(): boolean {
    return this.size > MAX_HELD_BYTES;
  }

  /** Attributes the changes between this call and the next `add` to this session. */
  begin(): void {
    this.seen = this.disk.lastChange;
  }

  add(replies: string): void {
    const { lastChange } = this.disk;
    if (lastChange !== this.seen) this.change = this.seen = lastChange;
    if (this.isEmpty && this.disk.isSaved(this.change)) return this.events.send(replies);
    this.held.push({ replies, change: this.change });
    this.size += replies.length;
    if (this.held.length === 1) this.wait();
  }

  private wait(): void {
    this.disk.whenSaved(this.held[0]!.change, (failure) => (failure ? this.events.lost() : this.release()));
  }

  private release(): void {
    let next = this.held[0];
    for (; next && this.disk.isSaved(next.change); next = this.held[0]) {
      this.held.shift();
      this.size -= next.replies.length;
      this.events.send(next.replies);
    }
    if (next) this.wait();
    this.events.released();
  }
}
