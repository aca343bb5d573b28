import { describe, expect, it } from '@jest/globals';
import { systemClock } from 'nest-handlers/time';
import { turn, OPTIONS, setup } from '../../spec-support/wire.js';

describe('Connection: sending', () => {
  it('sends all of one tick in one write, in order', async () => {
    const { wire, connection, note } = setup();
    connection.watch('t', note('watch'));
    connection.put('t', [Buffer.from('one')], OPTIONS, note('put'));
    connection.put('t', [Buffer.from('two')], OPTIONS, note('put'));
    connection.delete('5', note('delete'));
    expect(wire.writes).toEqual([]);
    await turn();
    expect(wire.writes).toEqual([
      'watch t\r\nuse t\r\nput 1 0 60 3\r\none\r\nput 1 0 60 3\r\ntwo\r\ndelete 5\r\n',
    ]);
  });

  it('sends what the callbacks of one chunk ask for in one write', async () => {
    const { wire, connection, note } = setup();
    for (const id of ['1', '2', '3']) connection.touch(id, () => connection.delete(id, note(id)));
    await turn();
    await wire.say('TOUCHED\r\nTOUCHED\r\nTOUCHED\r\n');
    expect(wire.writes).toEqual([
      'touch 1\r\ntouch 2\r\ntouch 3\r\n',
      'delete 1\r\ndelete 2\r\ndelete 3\r\n',
    ]);
  });

  it('keeps the bytes of bodies that fill more than one slab', async () => {
    const { wire, connection, note } = setup();
    const bodies = Array.from({ length: 50 }, (_, i) => Buffer.alloc(i * 131, i));
    for (const body of bodies) connection.put('default', [body], OPTIONS, note('put'));
    connection.touch('1', note('touch'));
    await turn();
    connection.put('default', [Buffer.alloc(60_000, 7)], OPTIONS, note('put'));
    await turn();
    const expected = [...bodies, Buffer.alloc(60_000, 7)].map(
      (body) => `put 1 0 60 ${body.length}\r\n${body.toString('latin1')}\r\n`,
    );
    expected.splice(50, 0, 'touch 1\r\n');
    expect(wire.writes.join('')).toBe(expected.join(''));
  });

  it('sends the parts of bodies in the order of the calls', async () => {
    const { wire, connection, note } = setup();
    const bodies = [
      ['ascii'],
      ['head ', Buffer.from('ä', 'latin1'), ' and more'],
      [],
      [Buffer.from('bytes'), Buffer.alloc(0)],
      ['last'],
    ];
    for (const body of bodies) connection.put('default', body, OPTIONS, note('put'));
    connection.put('default', ['x'.repeat(70_000)], OPTIONS, note('put'));
    await turn();
    expect(wire.writes.join('')).toBe(
      bodies
        .map((body) => body.map((part) => part.toString('latin1')).join(''))
        .map((body) => `put 1 0 60 ${body.length}\r\n${body}\r\n`)
        .join(''),
    );
  });

  it('uses a tube once for as long as it stays the same', async () => {
    const { wire, connection, note } = setup();
    for (const tube of ['a', 'a', 'b', 'default', 'default']) connection.put(tube, [], OPTIONS, note('put'));
    await turn();
    const put = 'put 1 0 60 0\r\n\r\n';
    expect(wire.writes.join('')).toBe(`use a\r\n${put}${put}use b\r\n${put}use default\r\n${put}${put}`);
  });
});

describe('Connection: answers', () => {
  it('gives each command its reply, in order', async () => {
    const { wire, connection, results, note } = setup();
    connection.put('t', [Buffer.from('x')], OPTIONS, note('put'));
    connection.reserveWithTimeout(0, note('reserve'));
    connection.reserveWithTimeout(0, note('empty'));
    connection.bury('1', 0, note('bury'));
    connection.kickJob('1', note('kick'));
    connection.stats(note('stats'));
    await turn();
    await wire.say('USING t\r\nINSERTED 7\r\nRESERVED 18446744073709551615 2\r\nab\r');
    await wire.say('\nTIMED_OUT\r\nBURIED\r\nKICKED\r\nOK 10\r\n---\nid: x\n\r\n');
    expect(results).toEqual([
      ['put', { status: 'INSERTED', id: '7' }],
      ['reserve', { id: '18446744073709551615', body: Buffer.from('ab') }],
      ['empty', 'TIMED_OUT'],
      ['bury', 'BURIED'],
      ['kick', 'KICKED'],
      ['stats', { id: 'x' }],
    ]);
  });

  it.each(['DRAINING', 'JOB_TOO_BIG', 'OUT_OF_MEMORY', 'INTERNAL_ERROR'])(
    'fails a put on %s and stays usable',
    async (word) => {
      const { wire, connection, results, note } = setup();
      connection.put('default', [Buffer.from('x')], OPTIONS, note('put'));
      connection.touch('1', note('touch'));
      await turn();
      await wire.say(`${word}\r\nTOUCHED\r\n`);
      expect(results).toEqual([
        ['put', word],
        ['touch', 'TOUCHED'],
      ]);
      expect(connection.closed).toBe(false);
    },
  );

  it('lets an error of a callback surface, and serves the callbacks after it', async () => {
    const { wire, clock, connection, results, note } = setup();
    connection.touch('1', () => {
      throw new Error('a broken callback');
    });
    connection.touch('2', note('second'));
    await turn();
    const surfaced: unknown[] = [];
    clock.next = (callback) =>
      systemClock.next(() => {
        try {
          callback();
        } catch (error) {
          surfaced.push(error);
        }
      });
    await wire.say('TOUCHED\r\nNOT_FOUND\r\n');
    expect(surfaced).toEqual([new Error('a broken callback')]);
    expect(results).toEqual([['second', 'NOT_FOUND']]);
  });

  it('has a promise-based interface', async () => {
    const { wire, connection } = setup();
    const watched = connection.ask<number>((done) => connection.watch('t', done));
    const ignored = connection.ask<number>((done) => connection.ignore('t', done));
    const settled = Promise.allSettled([watched, ignored]);
    await turn();
    await wire.say('WATCHING 2\r\nNOT_IGNORED\r\n');
    expect(await settled).toMatchObject([
      { status: 'fulfilled', value: 2 },
      { status: 'rejected', reason: { code: 'NOT_IGNORED', unknown: false } },
    ]);
    expect(connection.closed).toBe(false);
  });
});

describe('Connection: refusing before sending', () => {
  it('reports bad arguments through the callback, asynchronously, and sends nothing', async () => {
    const { wire, connection, results, note } = setup();
    connection.maxJobSize = 4;
    connection.put('t', [Buffer.alloc(5)], OPTIONS, note('too big'));
    connection.put('a tube', [Buffer.alloc(1)], OPTIONS, note('tube'));
    connection.put('t', [Buffer.alloc(1)], { ...OPTIONS, delay: -1 }, note('delay'));
    connection.delete('x', note('id'));
    expect(results).toEqual([]);
    connection.put('t', [Buffer.alloc(4)], OPTIONS, note('fits'));
    await turn();
    expect(results).toEqual([
      ['too big', 'JOB_TOO_BIG'],
      ['tube', 'BAD_ARGUMENT'],
      ['delay', 'BAD_ARGUMENT'],
      ['id', 'BAD_ARGUMENT'],
    ]);
    expect(wire.writes).toEqual(['use t\r\nput 1 0 60 4\r\n\0\0\0\0\r\n']);
    expect(connection.closed).toBe(false);
  });
});
