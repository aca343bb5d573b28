import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { decode, encode } from '@msgpack/msgpack';
import { Injectable } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { DelayedHandler, DelayedJob, DqModule, defineTube } from 'nest-dq';
import { DqOutbox, DqOutboxModule, type DqOutboxOptions } from 'nest-dq/outbox';
import { DqTestKit } from 'nest-dq/testing';
import { z } from 'zod';
import type { TestDatabase } from './databases.js';

export const Cancel = defineTube<{ id: string }>('order.cancel');
export const Mail = defineTube<{ to: string }>('mail');
const Packed = defineTube<{ at: Date; bytes: Uint8Array }>('packed', {
  codec: { name: 'msgpack', encode: (payload) => encode(payload), decode: (stored) => decode(stored) },
});
const Shouted = defineTube<string>('shouted', {
  codec: { name: 'shout', encode: (text: string) => text.toUpperCase(), decode: String },
});
const Checked = defineTube('checked', { schema: z.object({ id: z.string() }) });

@Injectable()
class Handlers {
  readonly ran: string[] = [];

  readonly jobs: DelayedJob[] = [];

  @DelayedHandler(Cancel)
  cancel({ id }: { id: string }, job: DelayedJob): void {
    this.ran.push(id);
    this.jobs.push(job);
  }

  @DelayedHandler(Mail)
  mail({ to }: { to: string }): void {
    this.ran.push(to);
  }
}

/** A process under the kit: its outbox, what its handlers ran, and a switch that fails its statements. */
export interface Process {
  readonly outbox: DqOutbox;
  readonly ran: string[];
  /** The jobs of `Cancel` that it ran. */
  readonly jobs: DelayedJob[];
  readonly lines: string[];
  /** Statements of the relay that begin like this fail. */
  failing: string | undefined;
  close(): Promise<void>;
}

export async function startProcess(
  kit: DqTestKit,
  database: TestDatabase,
  options: Partial<DqOutboxOptions> = {},
): Promise<Process> {
  const lines: string[] = [];
  const note = (line: string) => void lines.push(line);
  const logger = { log: () => undefined, warn: note, error: note };
  const query: DqOutboxOptions['database'] = async (sql, values) => {
    if (started.failing !== undefined && sql.startsWith(started.failing)) throw new Error('crash');
    return database.query(sql, values);
  };
  const app: TestingModule = await kit
    .override(
      Test.createTestingModule({
        imports: [
          DqModule.forRoot({ logger }),
          DqOutboxModule.forRoot({ dialect: database.dialect, database: query, relay: false, ...options }),
        ],
        providers: [Handlers],
      }),
    )
    .compile();
  await app.init();
  const started: Process = {
    outbox: app.get(DqOutbox),
    ran: app.get(Handlers).ran,
    jobs: app.get(Handlers).jobs,
    lines,
    failing: undefined,
    close: () => app.close(),
  };
  return started;
}

/** Facts about the outbox in every database. */
export function outboxSuite(name: string, open: () => Promise<TestDatabase>): void {
  describe(`the outbox in ${name}`, () => {
    let kit: DqTestKit;
    let db: TestDatabase;
    let app: Process;
    const others: Process[] = [];

    beforeEach(async () => {
      db = await open();
      kit = new DqTestKit({ now: new Date('2027-01-01T12:00:00Z') });
      app = await startProcess(kit, db);
    });
    afterEach(async () => {
      for (const each of [app, ...others.splice(0)]) await each.close();
      await kit.close();
      await db.close();
    });

    const another = async (options?: Partial<DqOutboxOptions>) => {
      const started = await startProcess(kit, db, options);
      others.push(started);
      return started;
    };
    const rows = async () => (await db.query('SELECT id FROM nest_dq_outbox')).length;
    /** Ends leases and pauses, as time does. */
    const letPass = () => db.query('UPDATE nest_dq_outbox SET next_at = 0');
    /** A relay that is killed before it deletes its rows. */
    const dieAfterAdding = async () => {
      app.failing = 'DELETE';
      await expect(app.outbox.relayNow()).rejects.toThrow('crash');
      app.failing = undefined;
      await letPass();
    };

    it('turns a committed row into its job, which is due when the call said', async () => {
      const receipt = await db.transaction((tx) =>
        app.outbox.delay(tx, Cancel, { id: '1' }, '15m', {
          key: 'one',
          headers: { from: 'shop' },
          group: 'g',
        }),
      );
      expect(receipt).toEqual({
        tube: 'order.cancel',
        key: 'one',
        dueAt: new Date('2027-01-01T12:15:00Z'),
      });
      await kit.advance('10m');
      expect(kit.scheduled(Cancel)).toEqual([]);
      expect(await app.outbox.relayNow()).toBe(1);
      expect(kit.scheduled(Cancel)).toMatchObject([
        { key: 'one', payload: { id: '1' }, dueAt: receipt.dueAt },
      ]);
      expect(await rows()).toBe(0);
      await kit.advance('5m');
      expect(app.jobs).toMatchObject([{ payload: { id: '1' }, headers: { from: 'shop' }, group: 'g' }]);
    });

    it('has nothing of a transaction that was rolled back', async () => {
      const placing = db.transaction(async (tx) => {
        await app.outbox.now(tx, Mail, { to: 'a' });
        throw new Error('rolled back');
      });
      await expect(placing).rejects.toThrow('rolled back');
      expect([await rows(), await app.outbox.relayNow()]).toEqual([0, 0]);
    });

    it('stores what a codec wrote, text or bytes, and moves a job with another payload', async () => {
      const payload = { at: new Date(5), bytes: new Uint8Array([0, 255, 10]) };
      await db.transaction(async (tx) => {
        await app.outbox.delay(tx, Packed, payload, '1h', { key: 'a' });
        await app.outbox.delay(tx, Shouted, 'ähm', '1h');
      });
      expect(await app.outbox.relayNow()).toBe(2);
      expect(kit.scheduled(Packed).map((job) => job.payload)).toEqual([payload]);
      expect(kit.scheduled(Shouted).map((job) => job.payload)).toEqual(['ÄHM']);
      const moved = { ...payload, at: new Date(6) };
      await db.transaction(async (tx) => {
        await app.outbox.reschedule(tx, { tube: Packed, key: 'a' }, { delay: '2h' }, { payload: moved });
      });
      expect(await app.outbox.relayNow()).toBe(1);
      expect(kit.scheduled(Packed).map((job) => job.payload)).toEqual([moved]);
      await db.transaction(async (tx) => {
        await app.outbox.reschedule(
          tx,
          { tube: 'packed', key: 'a' },
          { delay: '2h' },
          { payload: { at: 7 } },
        );
      });
      expect(await app.outbox.relayNow()).toBe(0);
      expect(app.lines.join()).toContain('is encoded with the codec "msgpack"');
      expect(kit.scheduled(Packed).map((job) => job.payload)).toEqual([moved]);
    });

    it('stores every kind of payload as an add does', async () => {
      const given = ['text ü €', Buffer.from([0, 255, 10]), undefined, { deep: [1, 'ü', null] }];
      await db.transaction(async (tx) => {
        for (const payload of given)
          await app.outbox.at(tx, 'any', payload, new Date('2027-01-02T00:00:00Z'));
      });
      await app.outbox.relayNow();
      const stored = kit.scheduled('any').map(({ payload }) => payload);
      expect(stored).toHaveLength(4);
      expect(stored).toEqual(expect.arrayContaining(given));
    });

    it.each([
      ['DQ_BAD_PAYLOAD', (tx: object) => app.outbox.now(tx, Checked, { id: 1 as never })],
      ['DQ_BAD_PAYLOAD', (tx: object) => app.outbox.now(tx, Mail, { to: 1n as never })],
      ['DQ_BAD_TUBE', (tx: object) => app.outbox.now(tx, 'a tube', {})],
      ['DQ_BAD_DURATION', (tx: object) => app.outbox.delay(tx, Mail, { to: 'a' }, '15' as never)],
      ['DQ_PAST_TIME', (tx: object) => app.outbox.at(tx, Mail, { to: 'a' }, new Date('2026-01-01'))],
      ['DQ_BAD_OPTION', (tx: object) => app.outbox.now(tx, Mail, { to: 'a' }, { key: undefined as never })],
      ['DQ_BAD_OPTION', (tx: object) => app.outbox.now(tx, Mail, { to: 'a' }, { patience: '1s' } as never)],
      ['DQ_BAD_OPTION', (tx: object) => app.outbox.now(tx, Mail, { to: 'a' }, { onDuplicate: 'keep' })],
      [
        'DQ_BAD_OPTION',
        (tx: object) => app.outbox.now(tx, Mail, { to: 'a' }, { key: 'k', onDuplicate: 'reject' as never }),
      ],
      ['DQ_BAD_OPTION', () => app.outbox.now({}, Mail, { to: 'a' })],
      ['DQ_BAD_REF', (tx: object) => app.outbox.revoke(tx, 'nothing' as never)],
      ['DQ_BAD_TIME', (tx: object) => app.outbox.reschedule(tx, { tube: Mail, key: 'a' }, 'soon' as never)],
    ])('refuses wrong input at the call, with %s', async (code, call) => {
      await db.transaction(async (tx) => {
        await expect(call(tx)).rejects.toMatchObject({ code });
      });
      expect(await rows()).toBe(0);
    });

    it('does what is asked for one key in the order of the calls, whoever relays', async () => {
      const other = await another();
      const ref = { tube: Cancel, key: 'one' };
      await db.transaction(async (tx) => {
        await app.outbox.delay(tx, Cancel, { id: 'first' }, '15m', { key: 'one' });
        await app.outbox.reschedule(tx, ref, { delay: '1h' }, { payload: { id: 'moved' } });
        await app.outbox.delay(tx, Cancel, { id: 'two' }, '15m', { key: 'two' });
        await app.outbox.revoke(tx, { tube: Cancel, key: 'two' });
        await app.outbox.delay(tx, Cancel, { id: 'again' }, '2h', { key: 'two' });
      });
      await Promise.all([app.outbox.relayNow(), other.outbox.relayNow()]);
      while ((await rows()) > 0) await app.outbox.relayNow();
      const found = kit.scheduled(Cancel).map(({ payload, dueAt }) => [payload, dueAt.toISOString()]);
      expect(found).toEqual([
        [{ id: 'moved' }, '2027-01-01T13:00:00.000Z'],
        [{ id: 'again' }, '2027-01-01T14:00:00.000Z'],
      ]);
    });

    it('revokes by the receipt of an add without a key', async () => {
      const receipt = await db.transaction((tx) => app.outbox.delay(tx, Mail, { to: 'a' }, '15m'));
      await app.outbox.relayNow();
      await db.transaction((tx) => app.outbox.revoke(tx, receipt));
      await app.outbox.relayNow();
      expect(kit.scheduled(Mail)).toEqual([]);
    });

    it('has one run of a row whose relay died after the add, before the job ran and after', async () => {
      await db.transaction((tx) => app.outbox.now(tx, Mail, { to: 'a' }));
      await dieAfterAdding();
      expect(await app.outbox.relayNow()).toBe(1);
      await kit.advance('1m');
      await db.transaction((tx) => app.outbox.now(tx, Mail, { to: 'b' }));
      await dieAfterAdding();
      await kit.advance('1m');
      expect(app.ran).toEqual(['a', 'b']);
      expect(await app.outbox.relayNow()).toBe(1);
      await kit.advance('1m');
      expect([app.ran, await rows()]).toEqual([['a', 'b'], 0]);
    });

    it('has one run of a row with a key that was in use before, too', async () => {
      await db.transaction((tx) => app.outbox.delay(tx, Cancel, { id: 'old' }, '1h', { key: 'one' }));
      await app.outbox.relayNow();
      await db.transaction((tx) => app.outbox.now(tx, Cancel, { id: 'new' }, { key: 'one' }));
      await dieAfterAdding();
      await kit.advance('1m');
      expect(await app.outbox.relayNow()).toBe(1);
      await kit.advance('2h');
      expect(app.ran).toEqual(['new']);
    });

    it('leaves a job alone that was added under the key after the relay had died', async () => {
      await db.transaction((tx) => app.outbox.delay(tx, Cancel, { id: 'row' }, '1h', { key: 'one' }));
      await dieAfterAdding();
      await kit.producer.delay(Cancel, { id: 'newer' }, '2h', { key: 'one' });
      expect(await app.outbox.relayNow()).toBe(1);
      await kit.advance('3h');
      expect(app.ran).toEqual(['newer']);
    });

    it('sets a row aside when nobody can know any more whether its job ran', async () => {
      await db.transaction((tx) => app.outbox.now(tx, Mail, { to: 'a' }));
      await dieAfterAdding();
      await db.query('UPDATE nest_dq_outbox SET tried_at = tried_at - 900000');
      await kit.advance('20d'); // the ledger keeps the record for up to twice `staleAfter`
      await app.outbox.relayNow();
      expect(await app.outbox.stuck()).toMatchObject([
        { act: 'add', tube: 'mail', error: expect.stringMatching(/^DQ_OUTBOX_UNSURE: a relay was cut off/) },
      ]);
      await kit.advance('1h');
      expect(app.ran).toEqual(['a']);
    });

    it('is sure about a job that was never added, however long the nodes were away', async () => {
      for (const node of [0, 1, 2]) kit.sleepNode(node);
      await db.transaction((tx) => app.outbox.now(tx, Mail, { to: 'a' }));
      expect(await app.outbox.relayNow()).toBe(0);
      await db.query('UPDATE nest_dq_outbox SET tried_at = tried_at - 900000');
      await kit.advance('15m');
      for (const node of [0, 1, 2]) kit.wakeNode(node);
      await kit.advance('5s');
      await letPass();
      expect(await app.outbox.relayNow()).toBe(1);
      await kit.advance('1s');
      expect(app.ran).toEqual(['a']);
    });

    it('never sets a row aside because servers are away', async () => {
      const impatient = await another({ attempts: 1 });
      for (const node of [0, 1, 2]) kit.sleepNode(node);
      await db.transaction((tx) => app.outbox.now(tx, Mail, { to: 'a' }));
      for (let i = 0; i < 3; i++) {
        await letPass();
        expect(await impatient.outbox.relayNow()).toBe(0);
      }
      expect(await app.outbox.state()).toMatchObject({ waiting: 1, stuck: 0 });
      const told = impatient.lines.filter((line) => line.startsWith('row '));
      expect(told).toEqual([expect.stringMatching(/^row \d+ .* waits: DQ_TOO_FEW_COPIES/)]);
    });

    it('sets a row aside that cannot become a job, shows it, and continues with the others', async () => {
      const relay = await another({ attempts: 2, batch: 1 });
      await db.transaction(async (tx) => {
        await app.outbox.now(tx, Cancel, { id: 'bad' }, { key: 'bad' });
        await app.outbox.now(tx, Cancel, { id: 'later' }, { key: 'bad' });
        await app.outbox.now(tx, Cancel, { id: 'good' });
      });
      await db.query(
        `UPDATE nest_dq_outbox SET body = '{' WHERE id = (SELECT id FROM (SELECT MIN(id) AS id FROM nest_dq_outbox) o)`,
      );
      expect(await relay.outbox.relayNow()).toBe(1);
      await kit.drain();
      expect(relay.ran.concat(app.ran)).toEqual(['good']);
      await letPass();
      await relay.outbox.relayNow();
      const [stuck, ...none] = await app.outbox.stuck();
      expect([stuck, none]).toMatchObject([
        { tries: 2, tube: 'order.cancel', error: expect.stringContaining('DQ_BAD_OPTION: the row is "{"') },
        [],
      ]);
      expect(await app.outbox.state()).toMatchObject({ waiting: 1, stuck: 1 });
      expect(relay.lines.at(-1)).toMatch(/^row \d+ of nest_dq_outbox was set aside: DQ_BAD_OPTION/);
      await app.outbox.retry([stuck!.id]);
      expect(await app.outbox.state()).toMatchObject({ waiting: 2, stuck: 0 });
      for (let i = 0; i < 2; i++) {
        await letPass();
        await relay.outbox.relayNow();
      }
      await app.outbox.discard([stuck!.id]);
      expect(await relay.outbox.relayNow()).toBe(1);
      expect(await app.outbox.state()).toEqual({ waiting: 0, stuck: 0, oldestFor: 0 });
    });

    it('reports how many rows wait, and since when by the clock of the database', async () => {
      expect(await app.outbox.state()).toEqual({ waiting: 0, stuck: 0, oldestFor: 0 });
      await db.transaction(async (tx) => {
        for (const to of ['a', 'b']) await app.outbox.now(tx, Mail, { to });
      });
      await db.query('UPDATE nest_dq_outbox SET created_at = created_at - 3600000');
      const { oldestFor, ...counts } = await app.outbox.state();
      expect(counts).toEqual({ waiting: 2, stuck: 0 });
      expect(oldestFor).toBeGreaterThanOrEqual(3_600_000);
      expect(oldestFor).toBeLessThan(3_660_000);
    });

    it('has each row relayed once by several relays at the same time', async () => {
      const relays = [app, await another({ batch: 7 }), await another({ batch: 20 })];
      await db.transaction(async (tx) => {
        for (let i = 0; i < 100; i++) await app.outbox.delay(tx, Mail, { to: `${i}` }, '1m');
      });
      const counts = await Promise.all(relays.map(({ outbox }) => outbox.relayNow()));
      expect(counts.reduce((sum, each) => sum + each)).toBe(100);
      expect(await rows()).toBe(0);
      await kit.advance('2m');
      const ran = relays.flatMap((each) => each.ran);
      expect([ran.length, new Set(ran).size]).toEqual([100, 100]);
    });
  });
}
