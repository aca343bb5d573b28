// The client against a real beanstalkd: the commands that we send, bodies and pipelines.
import { describe, expect, it } from '@jest/globals';
import type { BeanstalkError } from 'nest-dq/src/beanstalk/codec/beanstalk-error.js';
import type { Reserved } from 'nest-dq/src/beanstalk/connection.js';
import { LATER, NOW, put, realBeanstalkd, reserve, stateOf } from './real-beanstalkd.js';

const ALL_BYTES = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));

const { server, connect, worker } = realBeanstalkd();

describe('a real beanstalkd: commands', () => {
  it('stores, shows, reserves and deletes a job', async () => {
    const { connection, tube } = await worker();
    const id = await put(connection, tube, 'hello');
    const job = { id, body: Buffer.from('hello') };
    expect(await connection.ask((done) => connection.peek(id, done))).toEqual(job);
    expect(await reserve(connection)).toEqual(job);
    expect(await connection.ask((done) => connection.touch(id, done))).toBe('TOUCHED');
    expect(await connection.ask((done) => connection.delete(id, done))).toBe('DELETED');
    expect(await connection.ask((done) => connection.delete(id, done))).toBe('NOT_FOUND');
    expect(await connection.ask((done) => connection.touch(id, done))).toBe('NOT_FOUND');
    expect(await connection.ask((done) => connection.peek(id, done))).toBe('NOT_FOUND');
  });

  it('releases, buries and kicks a job', async () => {
    const { connection, tube } = await worker();
    const id = await put(connection, tube);
    await reserve(connection);
    expect(await connection.ask((done) => connection.release(id, 5, 3_600, done))).toBe('RELEASED');
    expect(await connection.ask((done) => connection.release(id, 5, 0, done))).toBe('NOT_FOUND');
    expect(await stateOf(connection, id)).toBe('delayed');
    expect(await connection.ask((done) => connection.kickJob(id, done))).toBe('KICKED');
    expect(await connection.ask((done) => connection.kickJob(id, done))).toBe('NOT_FOUND');
    await reserve(connection);
    expect(await connection.ask((done) => connection.bury(id, 7, done))).toBe('BURIED');
    expect(await connection.ask((done) => connection.bury(id, 7, done))).toBe('NOT_FOUND');
    expect(await stateOf(connection, id)).toBe('buried');
    expect(await connection.ask((done) => connection.kickJob(id, done))).toBe('KICKED');
    expect(await reserve(connection)).toMatchObject({ id });
  });

  it('reserves a ready, delayed or buried job by its id', async () => {
    const { connection, tube } = await worker();
    const id = await put(connection, tube, 'later', LATER);
    expect(await connection.ask((done) => connection.reserveJob(id, done))).toEqual({
      id,
      body: Buffer.from('later'),
    });
    expect(await connection.ask((done) => connection.reserveJob(id, done))).toBe('NOT_FOUND');
  });

  it('watches and ignores tubes', async () => {
    const connection = connect();
    expect(await connection.ask((done) => connection.watch('a', done))).toBe(2);
    expect(await connection.ask((done) => connection.ignore('default', done))).toBe(1);
    await expect(connection.ask((done) => connection.ignore('a', done))).rejects.toMatchObject({
      code: 'NOT_IGNORED',
    });
  });

  it('takes the longest names and the largest numbers', async () => {
    const { connection } = await worker();
    const tube = '$'.repeat(200);
    const largest = 4_294_967_295;
    const id = await put(connection, tube, '', { priority: largest, delay: largest, ttr: largest });
    expect(await connection.ask((done) => connection.statsJob(id, done))).toMatchObject({
      id,
      tube,
      pri: String(largest),
      delay: String(largest),
      ttr: String(largest),
    });
    expect(await connection.ask((done) => connection.delete('18446744073709551615', done))).toBe('NOT_FOUND');
  });

  it('returns statistics of itself, a tube and a job, all as strings', async () => {
    const { connection, tube } = await worker();
    const id = await put(connection, tube);
    expect(await connection.ask((done) => connection.stats(done))).toMatchObject({
      'max-job-size': '65535',
      pid: String(server().pid),
      id: expect.stringMatching(/^[0-9a-f]{16}$/),
      version: expect.stringMatching(/^[^"]+$/),
    });
    expect(await connection.ask((done) => connection.statsTube(tube, done))).toMatchObject({
      name: tube,
      'current-jobs-ready': '1',
    });
    expect(await connection.ask((done) => connection.statsJob(id, done))).toMatchObject({
      id,
      tube,
      state: 'ready',
    });
    expect(await connection.ask((done) => connection.statsTube('no-such-tube', done))).toBe('NOT_FOUND');
    expect(await connection.ask((done) => connection.listTubes(done))).toEqual(
      expect.arrayContaining(['default', tube]),
    );
    expect(await connection.ask((done) => connection.statsJob('999999999', done))).toBe('NOT_FOUND');
  });

  it('answers a reserve with DEADLINE_SOON while a held job is about to time out', async () => {
    const { connection, tube } = await worker();
    await put(connection, tube, 'x', { ...NOW, ttr: 1 });
    const held = reserve(connection);
    const soon = connection.ask<Reserved | string>((done) => connection.reserveWithTimeout(60, done)); // in the same write
    await held;
    expect(await soon).toBe('DEADLINE_SOON');
  });

  it('quits when all is answered', async () => {
    const reasons: BeanstalkError[] = [];
    const closed = new Promise<void>((resolve) => {
      const connection = connect({
        onClose: (reason) => {
          reasons.push(reason);
          resolve();
        },
      });
      connection.put('default', ['x'], LATER, (error, reply) => {
        expect(error).toBeUndefined();
        expect(reply.status).toBe('INSERTED');
      });
      connection.quit();
    });
    await closed;
    expect(reasons.map(({ code }) => code)).toEqual(['CLOSED']);
    expect.assertions(3);
  });
});

describe('a real beanstalkd: bodies', () => {
  it.each([
    ['empty', Buffer.alloc(0)],
    ['of all 256 values', ALL_BYTES],
    ['of nothing but CRLF', Buffer.from('\r\n\r\n')],
    ['that looks like a reply', Buffer.from('x\r\nTIMED_OUT\r\n')],
    ['of exactly the limit', Buffer.alloc(65_535, ALL_BYTES)],
  ])('keeps a body %s as it is', async (_, body) => {
    const { connection, tube } = await worker();
    const id = await put(connection, tube, body);
    expect(await reserve(connection)).toEqual({ id, body });
    expect(await connection.ask((done) => connection.delete(id, done))).toBe('DELETED');
  });

  it('refuses a body over the limit before it is sent, and stays usable', async () => {
    const { connection, tube } = await worker();
    await expect(put(connection, tube, Buffer.alloc(65_536))).rejects.toMatchObject({
      code: 'JOB_TOO_BIG',
      unknown: false,
      message: expect.stringContaining('65536 bytes'),
    });
    await put(connection, tube, 'fits');
  });

  it('stays usable when the server finds a body too big', async () => {
    const { connection, tube } = await worker();
    connection.maxJobSize = Infinity;
    const tooBig = put(connection, tube, Buffer.alloc(65_536));
    const fits = put(connection, tube, 'fits');
    await expect(tooBig).rejects.toMatchObject({ code: 'JOB_TOO_BIG', unknown: false });
    const id = await fits;
    expect(await reserve(connection)).toEqual({ id, body: Buffer.from('fits') });
  });

  it('carries a thousand bodies of many lengths both ways at once', async () => {
    const { connection, tube } = await worker();
    const bodies = Array.from({ length: 1_000 }, (_, i) => Buffer.alloc((i * 37) % 3_000, `${i},`));
    const ids = await Promise.all(bodies.map((body) => put(connection, tube, body)));
    const jobs = await Promise.all(ids.map(() => reserve(connection)));
    expect(jobs.map((job) => job.id)).toEqual(ids);
    expect(Buffer.concat(jobs.map((job) => job.body)).equals(Buffer.concat(bodies))).toBe(true);
  });
});

describe('a real beanstalkd: pipelines', () => {
  it('gives a batch of reserves the jobs first, and TIMED_OUT for each left over', async () => {
    const { connection, tube } = await worker();
    const ids = await Promise.all(['a', 'b', 'c'].map((body) => put(connection, tube, body)));
    const batch = await Promise.all(
      Array.from({ length: 64 }, () =>
        connection.ask<Reserved | string>((done) => connection.reserveWithTimeout(0, done)),
      ),
    );
    expect(batch.slice(0, 3).map((job) => typeof job === 'object' && job.id)).toEqual(ids);
    expect(batch.slice(3)).toEqual(Array<string>(61).fill('TIMED_OUT'));
  });

  it('lets a blocking reserve hold up later commands', async () => {
    const { connection, tube } = await worker();
    const order: string[] = [];
    const reserved = connection
      .ask<Reserved | string>((done) => connection.reserveWithTimeout(60, done))
      .then(() => order.push('reserve'));
    const behind = connection.ask((done) => connection.stats(done)).then(() => order.push('stats'));
    await put(connect(), tube);
    await Promise.all([reserved, behind]);
    expect(order).toEqual(['reserve', 'stats']);
  });
});
