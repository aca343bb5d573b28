import { randomBytes, randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { archiveOf, makeArchive, readingFlags } from './kafka-archive.js';
import { makeCertificate, type Certificate } from './certificate.js';
import { askMetadata } from './kafka-metadata.js';
import { ensureKafka, type KafkaProgram } from './kafka-program.js';
import {
  brokerProperties,
  portForOthers,
  type Broker,
  type KafkaOptions,
  type KafkaUser,
} from './kafka-properties.js';
import type { Place } from './place.js';
import { Server, startTogether } from './server.js';
import { ServerProcess, type Exit } from './server-process.js';

/** Shared by the brokers of one cluster. */
interface Cluster {
  readonly id: string;
  readonly program: KafkaProgram;
  readonly options: KafkaOptions;
  readonly certificate: Certificate | undefined;
  readonly brokers: readonly Broker[];
  readonly archive: string;
  /** Java flags of the brokers, in addition to those that all have. */
  readonly flags: readonly string[];
}

/** For a broker also takes the ports 10,000 and 10,001 above, below the ephemeral ports. A node of a Redis Cluster does the same. */
const PORTS = { first: 20_000, last: 22_698 };
const CLUSTER_SIZE = 3;
const REPLY_LIMIT = 5_000;
const WRITE_LIMIT = 60_000;
/** A small heap, and a quick start: the compiler that is quick itself, and no check of classes that come from known jars. */
const JAVA_FLAGS = [
  '-Xms64m',
  '-Xmx256m',
  '-XX:+UseSerialGC',
  '-XX:TieredStopAtLevel=1',
  '-XX:+UnlockDiagnosticVMOptions',
  '-XX:-BytecodeVerificationRemote',
  '-Djava.awt.headless=true',
  '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn',
];

/** A Kafka process on 127.0.0.1: broker and controller. */
export class KafkaServer extends Server implements Broker {
  /** `127.0.0.1:port` */
  readonly endpoint: string;
  /** The certificate that a client has to trust, as PEM text. Undefined without TLS. */
  readonly ca: string | undefined;
  private readonly folder: string;

  constructor(
    /** From 1. The messages of the protocol name it; its rack is `rack-1`, `rack-2` and so on. */
    readonly nodeId: number,
    place: Place,
    private readonly cluster: Cluster,
  ) {
    super(cluster.program.java, place);
    this.folder = place.folder;
    this.endpoint = `${this.host}:${this.port}`;
    this.ca = cluster.certificate?.ca;
  }

  private get meta(): string {
    return join(this.data, 'meta.properties');
  }

  private get file(): string {
    return join(this.folder, 'server.properties');
  }

  protected override async prepare(): Promise<void> {
    const { brokers, options, certificate } = this.cluster;
    await writeFile(this.file, brokerProperties(this, brokers, this.data, options, certificate));
    if (existsSync(this.meta)) return;
    const checkpoint = join(this.data, 'bootstrap.checkpoint');
    const template = `${this.cluster.program.jars}-bootstrap.checkpoint`;
    if (this.cluster.options.users) return this.format();
    if (existsSync(template)) return this.formatBy(template, checkpoint);
    await this.format();
    const part = `${template}.part-${randomUUID()}`;
    await copyFile(checkpoint, part);
    await rename(part, template);
  }

  protected override args(): string[] {
    return this.java(this.cluster.flags, 'kafka.Kafka', this.file);
  }

  protected override async serves(): Promise<boolean> {
    const asked = { host: this.host, port: portForOthers(this) };
    const { clusterId, brokers } = await askMetadata(asked, REPLY_LIMIT);
    return clusterId === this.cluster.id && brokers.includes(this.nodeId);
  }

  protected override foundPortTaken(_exit: Exit, output: string): boolean {
    return output.includes('Address already in use');
  }

  /**
   * As the storage tool formats a folder, which takes a second of Java each time. Without users its checkpoint, which has the
   * versions of the features, is the same for every broker.
   */
  private async formatBy(template: string, checkpoint: string): Promise<void> {
    await mkdir(this.data, { recursive: true });
    await copyFile(template, checkpoint);
    const directory = randomBytes(16).toString('base64url');
    const lines = [`cluster.id=${this.cluster.id}`, `directory.id=${directory}`, `node.id=${this.nodeId}`];
    await writeFile(this.meta, `${[...lines, 'version=1'].join('\n')}\n`);
  }

  /** Writes the cluster's id and the SCRAM users into the empty folder of the data. */
  private async format(): Promise<void> {
    const { id, program, options } = this.cluster;
    const scram = (options.users ?? []).flatMap(({ username, password }) =>
      ['SCRAM-SHA-256', 'SCRAM-SHA-512'].flatMap((mechanism) => [
        '--add-scram',
        `${mechanism}=[name=${username},password=${password}]`,
      ]),
    );
    const args = this.java(
      await readingFlags(this.cluster.archive),
      'kafka.tools.StorageTool',
      'format',
      `--cluster-id=${id}`,
      '-c',
      this.file,
      ...scram,
    );
    const formatting = await ServerProcess.spawn(program.java, args, this.folder);
    const { code } = await formatting.exited;
    if (code !== 0) throw new Error(`Kafka could not format its folder: ${await formatting.lastOutput()}`);
  }

  private java(flags: readonly string[], main: string, ...args: string[]): string[] {
    const { program } = this.cluster;
    return [...JAVA_FLAGS, ...flags, '-cp', join(program.jars, '*'), main, ...args];
  }
}

/** Starts a Kafka on free ports, with a folder of its own. Resolves when clients can use it. */
export async function startKafka(options: KafkaOptions = {}): Promise<KafkaServer> {
  const [server] = await startBrokers(1, options);
  return server!;
}

/**
 * Starts three that are one cluster. Each message has a copy on all three, and a write to two of them is enough. While one of
 * them does not run, the others continue; while two do not run, the third cannot.
 */
export function startKafkaCluster(options: KafkaOptions = {}): Promise<KafkaServer[]> {
  return startBrokers(CLUSTER_SIZE, options);
}

/** Prepares an archive of Java's classes of a broker for all that start later; until then, and if it rejects, they only start slower. */
export async function ensureKafkaArchive(): Promise<void> {
  await makeArchive(
    await archiveOf(await ensureKafka()),
    async (flags) => (await startBrokers(1, {}, flags))[0]!,
    async (broker) => {
      try {
        await broker.kill('SIGTERM', WRITE_LIMIT); // Java writes it when it ends in order
      } finally {
        await broker.stop();
      }
    },
  );
}

async function startBrokers(
  count: number,
  options: KafkaOptions,
  making?: readonly string[],
): Promise<KafkaServer[]> {
  for (const user of options.users ?? []) checkUser(user);
  const program = await ensureKafka();
  const archive = await archiveOf(program);
  const flags = making ?? (await readingFlags(archive));
  const certificate = options.tls ? await makeCertificate() : undefined;
  const id = randomBytes(16).toString('base64url');
  return startTogether('kafka', PORTS, count, (places) => {
    const brokers: KafkaServer[] = [];
    const cluster = { id, program, options, certificate, brokers, archive, flags };
    for (const place of places) brokers.push(new KafkaServer(brokers.length + 1, place, cluster));
    return brokers;
  });
}

/** Kafka reads both from texts with signs of their own. */
function checkUser(user: KafkaUser): void {
  for (const name of ['username', 'password'] as const)
    if (!/^[\w-]+$/.test(user[name]))
      throw new Error(
        `Expected \`${name}\` to be letters, digits, _ and -, got ${JSON.stringify(user[name])}`,
      );
}
