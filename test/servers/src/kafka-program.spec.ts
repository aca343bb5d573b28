import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { ensureKafka } from './kafka-program.js';
import type { Host } from './programs.js';

let folder: string;
let cache: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kafka-program-spec-'));
  cache = join(folder, 'cache', 'nest-dq');
  jest.spyOn(process.stderr, 'write').mockReturnValue(true);
});
afterEach(async () => {
  jest.restoreAllMocks();
  await rm(folder, { recursive: true, force: true });
});

/** A machine with Java, and with a Maven of this script, in which $out is the folder for the jars. */
async function machine(script: string): Promise<Host> {
  const mvn = join(folder, 'mvn');
  const findOut = `for arg; do case "$arg" in -DoutputDirectory=*) out="\${arg#*=}";; esac; done`;
  await writeFile(mvn, `#!/bin/sh\nset -e\n${findOut}\n${script}\n`);
  await chmod(mvn, 0o755);
  return { find: (name) => (name === 'mvn' ? mvn : `/bin/${name}`) };
}

const LOADS = 'mkdir "$out"; touch "$out/kafka.jar"';

describe('ensureKafka', () => {
  it('loads the jars once', async () => {
    const host = await machine(LOADS);
    const program = await ensureKafka(host, cache);
    expect(program).toEqual({ java: '/bin/java', jars: join(cache, 'kafka-4.2.2') });
    await expect(readdir(program.jars)).resolves.toEqual(['kafka.jar']);
    await expect(ensureKafka(await machine('exit 1'), cache)).resolves.toEqual(program);
  });

  it('loads them twice when two begin at once, and keeps those of the first', async () => {
    // A named pipe: its reader and its writer wait for each other, so none ends before both have begun.
    const meet = `mkfifo ${folder}/pipe 2>/dev/null && read -r _ <${folder}/pipe || echo here >${folder}/pipe`;
    const host = await machine(`${meet}\n${LOADS}`);
    const [one, other] = await Promise.all([ensureKafka(host, cache), ensureKafka(host, cache)]);
    expect(one).toEqual(other);
    await expect(readdir(cache)).resolves.toEqual(['kafka-4.2.2']);
    await expect(readdir(one.jars)).resolves.toEqual(['kafka.jar']);
  });

  it('says what Maven said when it fails, leaves nothing, and tries again the next time', async () => {
    const failing = await machine('mkdir "$out"; touch "$out/half.jar"; echo "[ERROR] no network"; exit 1');
    await expect(ensureKafka(failing, cache)).rejects.toThrow(
      'Maven could not download Kafka 4.2.2; its output: [ERROR] no network',
    );
    await expect(readdir(cache)).resolves.toEqual([]);
    const { jars } = await ensureKafka(await machine(LOADS), cache);
    await expect(readdir(jars)).resolves.toEqual(['kafka.jar']);
  });

  it('removes what a killed download left, and leaves alone one that may be in progress', async () => {
    const [old, young] = ['old', 'young'].map((name) => join(cache, `kafka-4.2.2.part-${name}`)) as [
      string,
      string,
    ];
    for (const part of [old, young]) await mkdir(part, { recursive: true });
    const hourAgo = Date.now() / 1_000 - 3_600;
    await utimes(old, hourAgo, hourAgo);
    await ensureKafka(await machine(LOADS), cache);
    expect([old, young].map((part) => existsSync(part))).toEqual([false, true]);
  });

  it('needs no Maven where the jars are', async () => {
    await mkdir(join(cache, 'kafka-4.2.2'), { recursive: true });
    const host: Host = { find: (name) => (name === 'java' ? '/bin/java' : undefined) };
    await expect(ensureKafka(host, cache)).resolves.toHaveProperty('java', '/bin/java');
  });

  it.each([
    { missing: 'java', debian: 'openjdk-17-jre-headless', homebrew: 'openjdk@17' },
    { missing: 'mvn', debian: 'maven', homebrew: 'maven' },
  ])('says how to get $missing', async ({ missing, debian, homebrew }) => {
    const host: Host = { find: (name) => (name === missing ? undefined : `/bin/${name}`) };
    await expect(ensureKafka(host, cache)).rejects.toThrow(
      `${missing} was not found; install it with \`apt-get install ${debian}\` (Debian, Ubuntu) ` +
        `or \`brew install ${homebrew}\` (macOS).`,
    );
  });
});
