import type { Place } from './place.js';
import { ensureProgram } from './programs.js';
import { Server, startSomewhere } from './server.js';
import type { Exit } from './server-process.js';
import type { Certificate } from './certificate.js';
import { clientOf, tlsSettings, writeTlsFiles } from './redis-tls.js';
import { ask, type Address } from './wire.js';

export interface RedisOptions {
  /**
   * Whether data is stored in an append-only file, which is synced every second. It survives a kill, but for what Redis keeps in its
   * memory during a sync, unless `appendfsync` is `always`. @default true
   */
  appendonly?: boolean;
  /**
   * `true`: a Redis Cluster of this one node, which has all slots and is ready after two seconds. `'no slots'`: a node without
   * slots, which another node can meet. @default false
   */
  cluster?: boolean | 'no slots';
  /** Its certificate. It then takes no connection without TLS. Clients need a certificate of the same authority. @default no TLS */
  tls?: Certificate;
  /** False: clients need no certificate. @default true */
  clientCertificates?: boolean;
  /** More arguments for the command line, such as `['--appendfsync', 'always']`. @default [] */
  args?: string[];
}

const PORTS = { first: 20_000, last: 29_998 };
/** A node of a cluster also takes the port 10,000 above. That one is also below the ephemeral ports, and not in `PORTS`. */
const CLUSTER_PORTS = { first: 20_000, last: 22_698 };
const SLOTS = 16_384;
/** With more, the command would be longer than the 64 KiB that Redis takes in one line. */
const SLOTS_AT_ONCE = 4_096;
const REPLY_LIMIT = 5_000;

/** A redis-server process on 127.0.0.1. */
export class RedisServer extends Server {
  /** `redis://127.0.0.1:port`, or `rediss://…` */
  readonly url: string;
  readonly tls: Address['tls'];

  constructor(
    program: string,
    place: Place,
    private readonly options: RedisOptions,
  ) {
    super(program, place);
    const { tls } = options;
    this.url = `${tls ? 'rediss' : 'redis'}://${this.host}:${this.port}`;
    this.tls = tls && clientOf(tls);
  }

  protected override async prepare(): Promise<void> {
    if (this.options.tls) await writeTlsFiles(this.data, this.options.tls);
  }

  protected override args(): string[] {
    const { appendonly = true, cluster = false, tls, clientCertificates = true, args = [] } = this.options;
    const settings = {
      bind: this.host,
      ...(tls ? tlsSettings(this.data, this.port, clientCertificates) : { port: String(this.port) }),
      dir: this.data,
      save: '',
      appendonly: appendonly ? 'yes' : 'no',
      appendfsync: 'everysec',
      'maxmemory-policy': 'noeviction',
      ...(cluster ? { 'cluster-enabled': 'yes', 'cluster-announce-ip': this.host } : {}),
    };
    return [...Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]), ...args];
  }

  protected override async serves(pid: number): Promise<boolean> {
    const info = await this.ask('INFO server');
    if (!info.includes(`\nprocess_id:${pid}\r\n`)) return false;
    if ((await this.ask('PING')) !== '+PONG') return false; // -LOADING while it reads its append-only file
    return this.options.cluster !== true || this.servesAllSlots();
  }

  protected override foundPortTaken(_exit: Exit, output: string): boolean {
    return output.includes('Address already in use');
  }

  private async servesAllSlots(): Promise<boolean> {
    const info = await this.ask('CLUSTER INFO');
    if (info.includes('cluster_slots_assigned:0\r\n')) await this.takeAllSlots();
    return info.includes('cluster_state:ok\r\n');
  }

  /** Names each slot, because versions before Redis 7 have no CLUSTER ADDSLOTSRANGE. */
  private async takeAllSlots(): Promise<void> {
    for (let first = 0; first < SLOTS; first += SLOTS_AT_ONCE) {
      const slots = Array.from({ length: SLOTS_AT_ONCE }, (_, index) => first + index);
      const reply = await this.ask(`CLUSTER ADDSLOTS ${slots.join(' ')}`);
      if (reply !== '+OK') throw new Error(`CLUSTER ADDSLOTS was answered ${reply}`);
    }
  }

  private ask(command: string): Promise<string> {
    return ask(this, command, REPLY_LIMIT);
  }
}

/** Starts a Redis on a free port, with a folder of its own. Resolves when it answers commands, or the cluster's state is ok. */
export async function startRedis(options: RedisOptions = {}): Promise<RedisServer> {
  const program = await ensureProgram('redis-server');
  const ports = options.cluster ? CLUSTER_PORTS : PORTS;
  return startSomewhere('redis', ports, (place) => new RedisServer(program, place, options));
}
