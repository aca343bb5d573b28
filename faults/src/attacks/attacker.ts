import { WireConnection, type Address } from 'test-servers';
import type { Copy } from './copy.js';

/** Commands in one write. */
const AT_ONCE = 500;
/** Seconds that a copy may be reserved, as the library has it. */
const TTR = 60;
const LONGEST_WAIT = 120_000;

export interface Storing {
  /** Which of the nodes. @default each */
  readonly node?: number;
  /** Delay in seconds. @default 0 */
  readonly delay?: number;
  /** The copies were sealed by the application for this tube. @default false */
  readonly valid?: boolean;
}

/** Who reaches the ports of the nodes with raw sockets, and has no key. */
export class Attacker {
  /** How many copies it has stored. */
  stored = 0;
  /** How many of these the application must refuse because of their seals. */
  toRefuse = 0;
  /** How many of them stay where they are: nobody looks at them, or not before their time. The attack itself counts them. */
  staying = 0;
  private readonly connections: readonly WireConnection[];

  constructor(
    private readonly nodes: readonly Address[],
    private readonly signal: AbortSignal,
  ) {
    this.connections = nodes.map((node) => new WireConnection(node));
  }

  /** A connection of its own to a node, which takes copies of this tube. */
  async hand(node: number, tube: string): Promise<Hand> {
    const connection = new WireConnection(this.nodes[node]!);
    await connection.ask([`watch ${tube}`, 'ignore default']);
    return new Hand(node, tube, connection);
  }

  /** How copies name a copy of this node, in the lists of their siblings. */
  async placeOf({ node, id }: Pick<Copy, 'node' | 'id'>): Promise<string> {
    const { host, port } = this.nodes[node]!;
    const [stats] = await this.ask(node, ['stats']);
    return `${host}:${port}#${field(stats!, 'id')}:${id}`;
  }

  get nodeCount(): number {
    return this.nodes.length;
  }

  /** Reads all copies on all nodes, by their ids. */
  async scan(): Promise<Copy[]> {
    const all = await Promise.all(this.connections.map((_, node) => this.scanNode(node)));
    return all.flat();
  }

  /** Reads one copy. Undefined: it is not there. */
  async peek({ node, id }: Pick<Copy, 'node' | 'id'>): Promise<string | undefined> {
    const [reply] = await this.ask(node, [`peek ${id}`]);
    return foundBody(reply!);
  }

  /** Stores these bodies in a tube, due now. */
  async store(
    tube: string,
    bodies: readonly string[],
    { node, delay = 0, valid }: Storing = {},
  ): Promise<void> {
    const nodes = node === undefined ? this.nodes.map((_, each) => each) : [node];
    const puts = bodies.map((body) => `put 0 ${delay} ${TTR} ${body.length}\r\n${body}`);
    const marked = bodies.filter((body) => /^dq[1s] /.test(body)).length;
    await Promise.all(
      nodes.map(async (each) => {
        const replies = await this.ask(each, puts, tube);
        const refused = replies.find((reply) => !reply.startsWith('INSERTED'));
        if (refused !== undefined) throw new Error(`a put of the attacker was answered ${refused}`);
      }),
    );
    this.stored += nodes.length * bodies.length;
    if (!valid) this.toRefuse += nodes.length * marked;
  }

  /** Sends commands to a node, in parts. */
  async ask(node: number, commands: readonly string[], tube?: string): Promise<string[]> {
    const connection = this.connections[node]!;
    const replies: string[] = [];
    for (let at = 0; at < commands.length; at += AT_ONCE) {
      this.signal.throwIfAborted();
      const part = commands.slice(at, at + AT_ONCE);
      if (tube === undefined) replies.push(...(await connection.ask(part, LONGEST_WAIT)));
      else replies.push(...(await connection.ask([`use ${tube}`, ...part], LONGEST_WAIT)).slice(1));
    }
    return replies;
  }

  stop(): void {
    for (const connection of this.connections) connection.close();
  }

  private async scanNode(node: number): Promise<Copy[]> {
    const [stats] = await this.ask(node, ['stats']);
    const ids = Array.from({ length: Number(field(stats!, 'total-jobs')) }, (_, i) => String(i + 1));
    const bodies = (await this.ask(node, commandsFor('peek', ids))).map(foundBody);
    const there = ids.filter((_, i) => bodies[i] !== undefined);
    const answers = await this.ask(node, commandsFor('stats-job', there));
    const found = new Map(ids.map((id, i) => [id, bodies[i]]));
    return there.flatMap((id, i) => {
      const about = answers[i]!;
      if (!about.startsWith('OK')) return []; // it has gone meanwhile
      const body = found.get(id)!;
      return { node, id, body, tube: field(about, 'tube'), state: field(about, 'state') };
    });
  }
}

/** Takes copies in the place of the application. What it holds comes back when it is closed. */
export class Hand {
  constructor(
    private readonly node: number,
    private readonly tube: string,
    private readonly connection: WireConnection,
  ) {}

  /** Resolves with a copy, or with undefined if none was due within `seconds`. */
  async take(seconds: number): Promise<Copy | undefined> {
    const [reply] = await this.connection.ask([`reserve-with-timeout ${seconds}`], LONGEST_WAIT);
    const body = foundBody(reply!);
    const [, id] = /^RESERVED (\d+)/.exec(reply!) ?? [];
    const { node, tube } = this;
    return id === undefined || body === undefined ? undefined : { node, id, tube, state: 'reserved', body };
  }

  /** Resolves with the replies. */
  tell(...commands: string[]): Promise<string[]> {
    return this.connection.ask(commands, LONGEST_WAIT);
  }

  close(): void {
    this.connection.close();
  }
}

export function commandsFor(verb: string, ids: readonly string[]): string[] {
  return ids.map((id) => `${verb} ${id}`);
}

/** The body in a reply. Undefined: there is none. */
function foundBody(reply: string): string | undefined {
  return /^(?:FOUND|RESERVED) \d+ \d+\r\n([^]*)$/.exec(reply)?.[1];
}

function field(stats: string, name: string): string {
  const value = new RegExp(`^${name}: "?([^"\n]*)"?$`, 'm').exec(stats)?.[1];
  if (value === undefined) throw new Error(`no ${name} in ${stats}`);
  return value;
}
