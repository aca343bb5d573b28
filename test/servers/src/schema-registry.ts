// A schema registry with Confluent's REST API: Apicurio Registry, all of whose data is in its memory.
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { loadByMaven, userCache } from './maven.js';
import type { Place } from './place.js';
import { ensurePackaged, thisHost } from './programs.js';
import { Server, startSomewhere } from './server.js';
import type { Exit } from './server-process.js';

const VERSION = '2.6.13.Final';
const ARTIFACT = `apicurio-registry-app-${VERSION}`;
const PORTS = { first: 20_000, last: 29_998 };
const REPLY_LIMIT = 5_000;
const JAVA_FLAGS = ['-Xms64m', '-Xmx256m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1'];

const run = promisify(execFile);

interface RegistryProgram {
  /** The path of java. */
  readonly java: string;
  readonly folder: string;
}

/** Ready to be started. If it is not in the cache, this loads it with Maven. */
export async function ensureSchemaRegistry(host = thisHost, cache = userCache()): Promise<RegistryProgram> {
  const java = await ensurePackaged('java', host);
  const folder = join(cache, ARTIFACT);
  const nothingElse =
    '<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>';
  const load = {
    what: `Apicurio Registry ${VERSION}`,
    size: 'about 140 MB',
    dependencies: [
      `<groupId>io.apicurio</groupId><artifactId>apicurio-registry-app</artifactId><version>${VERSION}</version>` +
        `<classifier>all</classifier><type>tar.gz</type>${nothingElse}`,
    ],
    finish: async (files: string) => {
      const archive = join(files, `${ARTIFACT}-all.tar.gz`);
      await run('tar', ['xzf', archive, '-C', files]);
      await rm(archive);
    },
  };
  if (!existsSync(folder)) await loadByMaven(await ensurePackaged('mvn', host), folder, load);
  return { java, folder };
}

/** A registry on 127.0.0.1. A restart begins with no schemas. */
export class SchemaRegistryServer extends Server {
  /** Address of the API, which is Confluent's. */
  readonly url: string;

  constructor(
    private readonly registry: RegistryProgram,
    place: Place,
  ) {
    super(registry.java, place);
    this.url = `http://${this.host}:${this.port}/apis/ccompat/v7`;
  }

  protected override args(): string[] {
    const { folder } = this.registry;
    const classpath = `${join(folder, `${ARTIFACT}-runner.jar`)}:${join(folder, 'lib', '*')}`;
    const settings = [`-Dquarkus.http.host=${this.host}`, `-Dquarkus.http.port=${this.port}`];
    return [...JAVA_FLAGS, ...settings, '-cp', classpath, 'io.quarkus.runner.GeneratedMain'];
  }

  protected override async serves(): Promise<boolean> {
    const answer = await fetch(`${this.url}/subjects`, { signal: AbortSignal.timeout(REPLY_LIMIT) });
    return answer.ok;
  }

  protected override foundPortTaken(_exit: Exit, output: string): boolean {
    return /Port.* in use|already bound/i.test(output);
  }
}

/** Starts one on a free port, with a folder of its own. Resolves when it answers. */
export async function startSchemaRegistry(): Promise<SchemaRegistryServer> {
  const program = await ensureSchemaRegistry();
  return startSomewhere('schema-registry', PORTS, (place) => new SchemaRegistryServer(program, place));
}
