// The checks of what users install fail when they should: of .ci/run.
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { ROOT } from './packed-app.js';

interface Ended {
  readonly code: number | undefined;
  readonly said: string;
}

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'checks-'));
  closing.push(() => rm(folder, { recursive: true }));
  return folder;
}

function run(script: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Ended> {
  return new Promise((resolve) => {
    const options = { cwd: ROOT, env: { ...process.env, ...env } };
    execFile(process.execPath, [`scripts/${script}`, ...args], options, (error, stdout, stderr) =>
      resolve({ code: error ? Number(error.code) : 0, said: stdout + stderr }),
    );
  });
}

describe('the check of licences', () => {
  /** The lock file, in which ioredis has another licence. */
  async function withLicence(license: string | undefined): Promise<Ended> {
    const folder = await temporaryFolder();
    const lock = JSON.parse(await readFile(join(ROOT, 'package-lock.json'), 'utf8')) as {
      packages: Record<string, { license?: string | undefined }>;
    };
    lock.packages['node_modules/ioredis']!.license = license;
    const path = join(folder, 'package-lock.json');
    await writeFile(path, JSON.stringify(lock));
    return run('licences.mjs', [path]);
  }

  it('takes what is there', async () => {
    const { code, said } = await run('licences.mjs', []);
    expect(said).toMatch(/^all \d+ packages that users install have allowed licences\n$/);
    expect(code).toBe(0);
  });

  it.each(['(MIT OR GPL-3.0-only)', 'MIT AND ISC', 'Apache-2.0'])('takes %s', async (licence) => {
    expect(await withLicence(licence)).toMatchObject({ code: 0 });
  });

  it.each(['GPL-3.0-only', 'MIT AND GPL-3.0-only', 'SEE LICENSE IN LICENSE', '(AGPL-3.0-only OR SSPL-1.0)'])(
    'refuses %s, and names the package',
    async (licence) => {
      const { code, said } = await withLicence(licence);
      expect(said).toContain(`ioredis@6.0.0 has licence ${licence}: expected one of 0BSD,`);
      expect(code).toBe(1);
    },
  );
});

describe('the check of vulnerabilities', () => {
  /** Asks a registry that answers audits so. */
  async function audited(status: number, advisories: object): Promise<Ended> {
    const registry = createServer((request, response) => {
      request.resume();
      const isAudit = request.method === 'POST';
      response.writeHead(isAudit ? status : 404, { 'Content-Type': 'application/json' });
      response.end(JSON.stringify(isAudit ? advisories : {}));
    });
    registry.listen(0, '127.0.0.1');
    await once(registry, 'listening');
    closing.push(() => new Promise((resolve) => registry.close(resolve)));
    const { port } = registry.address() as AddressInfo;
    // npm remembers what an advisory is about.
    const cache = await temporaryFolder();
    return run('audit.mjs', [], {
      npm_config_registry: `http://127.0.0.1:${port}/`,
      npm_config_cache: cache,
    });
  }
  const advisory = (severity: string) => ({
    ioredis: [{ id: 1, url: 'https://example.org/1', title: 'a hole', severity, vulnerable_versions: '*' }],
  });

  it('fails for one that is high, and names it', async () => {
    const { code, said } = await audited(200, advisory('high'));
    expect(said).toContain('ioredis has a vulnerability of high severity: a hole, https://example.org/1');
    expect(code).toBe(1);
  }, 60_000);

  it('takes one that is low, and none', async () => {
    const fact = 'npm knows of no high-severity vulnerability in what users install\n';
    expect(await audited(200, advisory('low'))).toEqual({ code: 0, said: fact });
    expect(await audited(200, {})).toEqual({ code: 0, said: fact });
  }, 60_000);

  it('says so where a registry answers no audits', async () => {
    const fact = 'not checked: the registry does not support audits (405 Method Not Allowed)\n';
    expect(await audited(405, {})).toEqual({ code: 0, said: fact });
  }, 60_000);
});
