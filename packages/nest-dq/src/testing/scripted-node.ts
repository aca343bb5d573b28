import type { Duplex } from 'node:stream';
import { duplexPair } from '../embedded/duplex-pair.js';
import type { Clock } from '../time.js';

export interface Arrived {
  /** The command with its arguments. */
  readonly line: string;
  /** Of a put. */
  readonly body: Buffer;
  readonly at: number;
}

/** Its answer without the last CRLF; undefined: none. */
export type Answer = (arrived: Arrived) => string | undefined;

const NOTHING = Buffer.alloc(0);

/**
 * The wire of a node that answers as a spec says: what no real server does when asked to. It knows the greeting, the
 * ping and the put by itself.
 */
export class ScriptedNode {
  instance = 'scripted00000001';
  /** It takes connections, and says nothing any more. */
  frozen = false;
  /** It takes no connections. */
  refusing = false;
  readonly arrived: Arrived[] = [];
  /** When it was dialled, by the clock. */
  readonly dials: number[] = [];
  /** By the first word of the command. */
  readonly answers: Record<string, Answer> = {
    stats: () => this.ok(`id: ${this.instance}\nmax-job-size: 65535`),
    'list-tube-used': () => 'USING default',
    use: ({ line }) => `USING ${line.slice('use '.length)}`,
    put: () => `INSERTED ${++this.lastId}`,
  };

  private lastId = 0;
  private readonly open = new Set<Duplex>();

  constructor(private readonly clock: Clock) {}

  get connections(): number {
    return this.open.size;
  }

  readonly dial = (): Duplex => {
    this.dials.push(this.clock.now());
    const { client, server } = duplexPair(this.clock);
    if (this.refusing) return client.destroy(new Error('connect ECONNREFUSED'));
    this.open.add(server);
    server.on('close', () => this.open.delete(server));
    let waiting = NOTHING;
    server.on('data', (chunk: Buffer) => {
      waiting = this.take(Buffer.concat([waiting, chunk]), server);
    });
    return client;
  };

  /** What arrived, without its arguments, greeting and pings left out. */
  get words(): string[] {
    const words = this.arrived.map(({ line }) => line.split(' ', 1)[0]!);
    return words.filter((word) => word !== 'stats' && word !== 'list-tube-used' && word !== 'use');
  }

  /** Ends all connections, as a killed server does. */
  cut(): void {
    for (const stream of this.open) stream.destroy();
  }

  ok(yaml: string): string {
    return `OK ${yaml.length + 5}\r\n---\n${yaml}\n`;
  }

  private take(bytes: Buffer, server: Duplex): Buffer {
    for (;;) {
      const end = bytes.indexOf('\r\n');
      if (end < 0) return bytes;
      const line = bytes.toString('latin1', 0, end);
      const size = line.startsWith('put ') ? Number(line.split(' ')[4]) : 0;
      const next = end + 2 + (size > 0 ? size + 2 : 0);
      if (bytes.length < next) return bytes;
      const arrived = { line, body: bytes.subarray(end + 2, end + 2 + size), at: this.clock.now() };
      this.arrived.push(arrived);
      const answer = this.frozen ? undefined : this.answers[line.split(' ', 1)[0]!]?.(arrived);
      if (answer !== undefined) server.write(`${answer}\r\n`);
      bytes = bytes.subarray(next);
    }
  }
}
