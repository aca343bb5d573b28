import { describe, expect, it } from '@jest/globals';
import { parseRef } from '../copies/job-ref.js';
import { failure, scripted } from '../../spec-support/producing.js';
import type { ScriptedNode } from '../../spec-support/scripted-node.js';

describe('an add that finds too few nodes', () => {
  it('stores nothing, and says why, when no node is there', async () => {
    const { clock, servers, ledger, producer, after } = await scripted();
    for (const server of servers) {
      server.refusing = true;
      server.cut();
    }
    await clock.advance(0);
    const error = await failure(after(2_000, producer.delay('t', 1, '1m')));
    expect(error).toMatchObject({ code: 'DQ_TOO_FEW_COPIES', indeterminate: false });
    expect(error.message).toMatch(/stored on 0 of 3 nodes, need 2: .*n\d:1: .*; the job will not run$/);
    expect(Object.keys(error.nodes!).length).toBeGreaterThanOrEqual(2);
    expect(ledger.revokes).toEqual([]);
  });

  it('says that a node is the server of another one, and was not asked', async () => {
    const { producer, words, after } = await scripted(2, '', (server) => {
      server.instance = 'one';
    });
    const error = await failure(after(2_000, producer.delay('t', 1, '1m')));
    expect(error).toMatchObject({ code: 'DQ_TOO_FEW_COPIES', indeterminate: false });
    expect(error.nodes).toEqual({
      'n0:1': 'not tried, because too few other nodes stored it',
      'n1:1': 'it is the same server as n0:1',
    });
    expect(error.message).toContain('n1:1: it is the same server as n0:1; ');
    expect(words()).toEqual([]);
  });

  it('takes back what it stored, and needs no ledger for that', async () => {
    const { servers, ledger, producer, words, after } = await scripted();
    ledger.down = true;
    servers[0]!.answers['put'] = () => 'DRAINING';
    servers[1]!.answers['put'] = () => 'DRAINING';
    const error = await failure(after(2_000, producer.delay('t', 1, '1m')));
    expect(error).toMatchObject({ code: 'DQ_TOO_FEW_COPIES', indeterminate: false });
    expect(error.nodes).toEqual({
      'n0:1': expect.stringContaining('DRAINING'),
      'n1:1': expect.stringContaining('DRAINING'),
    });
    expect(words().filter((word) => word === 'delete')).toHaveLength(1);
    expect(ledger.revokes).toEqual([]);
  });

  it.each<[string, 'delay' | 'now']>([
    ['a job to come', 'delay'],
    ['a job that is due', 'now'],
  ])('has the ledger void what it cannot take back: %s', async (_name, kind) => {
    const { servers, ledger, producer, puts, claim, after } = await scripted();
    for (const server of servers.slice(1)) server.answers['put'] = () => undefined;
    const add = kind === 'now' ? producer.now('t', 1) : producer.delay('t', 1, '1m');
    const error = await failure(after(2_000, add));
    expect(error).toMatchObject({ code: 'DQ_TOO_FEW_COPIES', indeterminate: false });
    expect(ledger.revokes).toHaveLength(1);
    expect(ledger.revokes[0]!.owed).toEqual({ mask: 0b110, unknown: true });
    // A copy that surfaces after all is turned away.
    expect(await claim(puts()[0]!.envelope)).toEqual({ kind: 'gone' });
  });

  it('says that the job may still run when neither nodes nor ledger answer', async () => {
    const { servers, ledger, producer, after } = await scripted();
    ledger.down = true;
    for (const server of servers.slice(1)) server.answers['put'] = () => undefined;
    const error = await failure(after(2_000, producer.delay('t', 1, '1m')));
    expect(error).toMatchObject({ code: 'DQ_TOO_FEW_COPIES', indeterminate: true });
    expect(error.message).toContain('the job may still run');
  });

  it('says so too when the job was started in the meantime', async () => {
    const { clock, servers, producer, puts, run } = await scripted();
    for (const server of servers.slice(1)) server.answers['put'] = () => undefined;
    const add = failure(producer.now('t', 1));
    await clock.advance(0);
    await run(puts()[0]!.envelope);
    await clock.advance(2_000);
    expect(await add).toMatchObject({ code: 'DQ_TOO_FEW_COPIES', indeterminate: true });
  });

  it('says so too when a run of it has failed, and it waits for a retry', async () => {
    const { clock, servers, producer, puts, run, claim } = await scripted();
    for (const server of servers.slice(1)) server.answers['put'] = () => undefined;
    const add = failure(producer.now('t', 1));
    await clock.advance(0);
    await (await run(puts()[0]!.envelope)).finish('retry');
    await clock.advance(2_000);
    expect(await add).toMatchObject({ code: 'DQ_TOO_FEW_COPIES', indeterminate: true });
    expect(await claim(puts()[0]!.envelope)).toEqual({ kind: 'gone' });
  });

  it('says so too when every copy could be deleted, but had the time to run before', async () => {
    for (const ran of [true, false]) {
      // The other nodes have never answered, and each takes half a second to be given up.
      const prepare = (server: ScriptedNode, index: number) => index !== 1 && server.freeze();
      const { clock, servers, producer, puts, run, after } = await scripted(7, '', prepare);
      const add = failure(producer.now('t', 1));
      await clock.advance(0);
      if (ran) await (await run(puts()[0]!.envelope)).finish('retry');
      expect(await after(5_000, add)).toMatchObject({ code: 'DQ_TOO_FEW_COPIES', indeterminate: ran });
      expect(servers[1]!.words).toEqual(['put', 'delete']);
    }
  });

  it('says so when the ledger is closed meanwhile', async () => {
    const { servers, ledger, producer, after } = await scripted();
    for (const server of servers.slice(1)) server.answers['put'] = () => undefined;
    const add = failure(after(2_000, producer.now('t', 1)));
    await ledger.close();
    expect(await add).toMatchObject({ code: 'DQ_TOO_FEW_COPIES', indeterminate: true });
  });

  it('fails with backups alone', async () => {
    const { servers, producer, after } = await scripted();
    servers[0]!.answers['put'] = () => undefined;
    const receipt = await after(2_000, producer.delay('t', 1, '1m'));
    expect(receipt.copies).toBe(2);
    expect(parseRef(receipt, '').places.map(({ location }) => location)).toContain('n0:1#instance0:?');
  });
});
