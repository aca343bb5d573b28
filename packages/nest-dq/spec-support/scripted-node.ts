import type { Duplex } from 'node:stream';
import { duplexPair } from '../src/embedded/in-process-node.js';
import type { Clock } from 'nest-handlers/time';

export interface Arrived {
  /** The command with its arguments. */
  readonly line: string;
  /** The body of a put. */
  readonly body: Buffer;
  readonly at: number;
}

/** Returns the answer without its last CRLF. Undefined: this command and all later ones on the connection get no answer. */
export type Answer = (arrived: Arrived) => string | undefined;

interface Client {
  waiting: Buffer;
  mute: boolean;
}

/**
 * A node that answers as a spec says, also as no real server would. Without a spec, it answers the greeting and the ping,
 * which are both `stats`, and puts.
 */
export class ScriptedNode {
  instance = 'scripted00000001';
  /** Whether it refuses connections. */
  refusing = false;
  readonly arrived: Arrived[] = [];
  /** Times on `clock` at which it was dialled, in ms. */
  readonly dials: number[] = [];
  /** More counters for `stats`. Without those of a log, the node has none. */
  readonly counters: Record<string, number> = {};
  /** The answers of the spec, by the first word of the command. */
  readonly answers: Record<string, Answer> = {
    stats: () => {
      const counters = Object.entries(this.counters).map(([name, count]) => `\n${name}: ${count}`);
      return this.ok(`id: ${this.instance}\nmax-job-size: 65535${counters.join('')}`);
    },
    use: ({ line }) => `USING ${line.slice('use '.length)}`,
    put: () => `INSERTED ${++this.lastId}`,
  };

  private lastId = 0;
  private stopped = false;
  private readonly clients = new Map<Duplex, Client>();

  constructor(private readonly clock: Clock) {}

  get connections(): number {
    return this.clients.size;
  }

  /** The commands that arrived, without arguments, and without greeting, pings and `use`. */
  get words(): string[] {
    const words = this.arrived.map(({ line }) => wordOf(line));
    return words.filter((word) => word !== 'stats' && word !== 'use');
  }

  readonly dial = (): Duplex => {
    this.dials.push(this.clock.now());
    const { client, server } = duplexPair(this.clock);
    if (this.refusing) return client.destroy(new Error('connect ECONNREFUSED'));
    this.clients.set(server, { waiting: Buffer.alloc(0), mute: false });
    server.on('close', () => this.clients.delete(server));
    server.on('data', (chunk: Buffer) => this.take(server, chunk));
    return client;
  };

  /** Stops reading, as after SIGSTOP. It still accepts connections. */
  freeze(): void {
    this.stopped = true;
  }

  /** Reads what was sent meanwhile, and continues. */
  thaw(): void {
    this.stopped = false;
    for (const server of this.clients.keys()) this.take(server, Buffer.alloc(0));
  }

  /** Ends all connections, as a killed server does. */
  cut(): void {
    for (const server of this.clients.keys()) server.destroy();
  }

  ok(yaml: string): string {
    return `OK ${yaml.length + 5}\r\n---\n${yaml}\n`;
  }

  private take(server: Duplex, chunk: Buffer): void {
    const client = this.clients.get(server);
    if (!client) return;
    client.waiting = Buffer.concat([client.waiting, chunk]);
    while (!this.stopped) {
      const { waiting } = client;
      const end = waiting.indexOf('\r\n');
      if (end < 0) return;
      const line = waiting.toString('latin1', 0, end);
      const size = wordOf(line) === 'put' ? Number(line.split(' ')[4]) : undefined;
      const next = end + 2 + (size === undefined ? 0 : size + 2);
      if (waiting.length < next) return;
      client.waiting = waiting.subarray(next);
      const arrived = { line, body: waiting.subarray(end + 2, end + 2 + (size ?? 0)), at: this.clock.now() };
      this.arrived.push(arrived);
      const answer = this.answers[wordOf(line)]?.(arrived);
      client.mute ||= answer === undefined;
      if (!client.mute) server.write(`${answer}\r\n`);
    }
  }
}

function wordOf(line: string): string {
  return line.split(' ', 1)[0]!;
}
