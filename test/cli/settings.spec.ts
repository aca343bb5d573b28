import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { ask, eventually } from 'test-servers';
import { startSystem } from '../support/system.js';
import { cliSuite, TUBE } from './cluster-suite.js';

const DAY = 86_400_000;
const suite = cliSuite({ advanced: { staleAfter: '30d' }, replicas: 2 });

beforeAll(() => eventually('the process announced itself', async () => (await processes()) === 1));

async function processes(): Promise<number> {
  return (await suite.system.inspector.processes()).length;
}

/** Revokes a new job by the command. Resolves with how long its record stays then, in days, and with what was said. */
async function revoked(args: readonly string[] = []) {
  const { ref, id } = await suite.system.producer.delay(TUBE, 1, '1h');
  const { code, stderr } = await suite.nestDq(['revoke', ref, ...args]);
  expect(code).toBe(0);
  const left = await ask(suite.servers.redis, `PTTL {${TUBE}}:${id}`);
  return { days: Number(left.slice(1)) / DAY, stderr };
}

describe('a command that writes', () => {
  it('writes records as the processes of the application do', async () => {
    const { days, stderr } = await revoked();
    expect(days).toBeGreaterThan(60);
    expect(days).toBeLessThan(61);
    expect(stderr).toBe('');
  });

  it('stores as many copies as they do', async () => {
    const { ref } = await suite.system.producer.delay(TUBE, 1, '1h');
    expect((await suite.nestDq(['move', ref, '--to', '2h'])).code).toBe(0);
    expect((await suite.system.inspector.explain({ ref })).copies).toHaveLength(2);
  });

  it('takes what its file says', async () => {
    const file = join(suite.folder, 'own.json');
    await writeFile(file, JSON.stringify({ advanced: { staleAfter: '10d' } }));
    const { days, stderr } = await revoked(['--config', file]);
    expect(days).toBeGreaterThan(20);
    expect(days).toBeLessThan(21);
    expect(stderr).toBe('');
  });

  it('warns of a file that everybody can write', async () => {
    const file = join(suite.folder, 'open.json');
    await writeFile(file, '{}');
    await chmod(file, 0o666);
    const { code, stderr } = await suite.nestDq(['nodes', '--config', file]);
    expect(code).toBe(0);
    expect(stderr).toBe(
      `nest-dq: ${file} is world-writable, so anyone on this machine can choose the servers: chmod o-w ${file}\n`,
    );
  });

  it('takes the longest times where processes differ, and says so', async () => {
    const other = startSystem(suite.servers, { advanced: { staleAfter: '40d' }, replicas: 2 });
    try {
      await eventually('both announced themselves', async () => (await processes()) === 2);
      const { days, stderr } = await revoked();
      expect(days).toBeGreaterThan(80);
      expect(stderr).toBe('nest-dq: processes differ in staleAfter (30d, 40d); using the largest\n');
    } finally {
      await other.stop();
    }
  });

  it('says that it uses the defaults where there is no process, unless it only reads', async () => {
    const args = ['--tube', TUBE, '--key', 'none'];
    const prefix = { DQ_PREFIX: 'nobody.' };
    expect((await suite.nestDq(['revoke', ...args], prefix)).stderr).toContain(
      'nest-dq: no process with the prefix "nobody." is running; using the defaults for lease, doneTtl, staleAfter, replicas, minWritten\n',
    );
    expect((await suite.nestDq(['find', ...args], prefix)).stderr).not.toContain('using the defaults');
  });
});
