import { Duplex } from 'node:stream';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { VirtualClock } from '../test-kit/virtual-clock.js';
import { systemClock } from '../time/clock.js';
import type { BeanstalkError } from './codec/beanstalk-error.js';
import { Connection, type Done } from './connection.js';

/** The server's end: it records each write and says what the spec tells it to. */
class Wire extends Duplex {
  readonly writes: string[] = [];
  connecting?: boolean;

  override _write(chunk: Buffer, _encoding: BufferEncoding, written: (error?: Error) => void): void {
    this.writes.push(chunk.toString('latin1'));
    written();
  }

  override _read(): void {
    // What arrives is pushed by `say`.
  }

  async say(text: string): Promise<void> {
    this.push(Buffer.from(text, 'latin1'));
    await turn();
  }
}

/** All that follows from what was done so far has happened. */
async function turn(): Promise<void> {
  for (let i = 0; i < 3; i++) await new Promise<void>((resolve) => setImmediate(resolve));
}

const OPTIONS = { priority: 1, delay: 0, ttr: 60 };

function setup(wire = new Wire()) {
  const clock = new VirtualClock();
  const closes: BeanstalkError[] = [];
  /** In the order in which they came: a value, or a code with `?` where the outcome is unknown. */
  const results: unknown[] = [];
  const connection = new Connection(wire, { clock, onClose: (reason) => closes.push(reason) });
  const note =
    (name: string): Done<unknown> =>
    (error, value) =>
      results.push([name, error ? `${error.code}${error.unknown ? '?' : ''}` : value]);
  return { wire, clock, connection, closes, results, note };
}

afterEach(() => {
  jest.restoreAllMocks();
});

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
    'fails a put on %s and goes on',
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

  it('lets what a callback throws surface, and serves the callbacks behind it', async () => {
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

  it('has a promise face', async () => {
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
  it('fails bad arguments by the callback, later, and sends nothing of them', async () => {
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

describe('Connection: closing', () => {
  it('fails all that wait, once each, saying which were sent', async () => {
    const { wire, connection, closes, results, note } = setup();
    connection.delete('1', note('answered'));
    connection.delete('2', note('sent'));
    connection.delete('3', note('sent too'));
    await turn();
    await wire.say('DELETED\r\n');
    connection.delete('4', note('unsent'));
    connection.close();
    connection.close();
    expect(results).toEqual([
      ['answered', 'DELETED'],
      ['sent', 'CLOSED?'],
      ['sent too', 'CLOSED?'],
      ['unsent', 'CLOSED'],
    ]);
    await turn();
    expect(results).toHaveLength(4);
    expect(closes.map((reason) => reason.code)).toEqual(['CLOSED']);
    expect(wire.destroyed).toBe(true);
    expect(wire.writes.join('')).not.toContain('delete 4');
  });

  it('fails calls after the close by the callback, later', async () => {
    const { connection, results, note } = setup();
    connection.close();
    connection.put('t', [Buffer.from('x')], OPTIONS, note('put'));
    expect(results).toEqual([]);
    await turn();
    expect(results).toEqual([['put', 'CLOSED']]);
  });

  it.each([
    ['an error', (wire: Wire) => wire.destroy(new Error('ECONNRESET'))],
    ['its end', (wire: Wire) => wire.push(null)],
    ['a close', (wire: Wire) => wire.destroy()],
  ])('is closed by %s of the stream', async (_, act) => {
    const { wire, connection, closes, results, note } = setup();
    connection.put('default', [Buffer.from('x')], OPTIONS, note('put'));
    connection.touch('1', note('touch'));
    await turn();
    act(wire);
    await turn();
    expect(results).toEqual([
      ['put', 'CONNECTION_LOST?'],
      ['touch', 'CONNECTION_LOST?'],
    ]);
    expect(closes.map((reason) => reason.code)).toEqual(['CONNECTION_LOST']);
    expect(connection.closed).toBe(true);
  });

  it.each([
    ['BAD_FORMAT', 'BAD_FORMAT'],
    ['UNKNOWN_COMMAND', 'UNKNOWN_COMMAND'],
    ['EXPECTED_CRLF', 'EXPECTED_CRLF'],
    ['WATCHING 1', 'BAD_REPLY?'],
    ['DRAINING', 'BAD_REPLY?'],
    ['BURIED', 'BAD_REPLY?'],
    ['nonsense', 'BAD_REPLY?'],
  ])('closes when a delete is answered by %s', async (reply, code) => {
    const { wire, connection, closes, results, note } = setup();
    connection.delete('1', note('first'));
    connection.delete('2', note('second'));
    await turn();
    await wire.say(`${reply}\r\nDELETED\r\n`);
    expect(results).toEqual([
      ['first', code],
      ['second', 'CONNECTION_LOST?'],
    ]);
    expect(closes.map((reason) => reason.code)).toEqual([code.replace('?', '')]);
  });

  it.each(['BURIED\r\n', 'OK 3\r\n---\r\n'])('takes %j for no answer to a put', async (reply) => {
    const { wire, connection, results, note } = setup();
    connection.put('default', [], OPTIONS, note('asked'));
    await turn();
    await wire.say(reply);
    expect(results).toEqual([['asked', 'BAD_REPLY?']]);
  });

  it('closes when something is said although nothing was asked', async () => {
    const { wire, clock, connection, closes, results, note } = setup();
    clock.next = (callback) => systemClock.next(callback); // a real tick, before which the wire says something
    connection.touch('1', note('unsent'));
    wire.push('TOUCHED\r\n');
    await turn();
    expect(results).toEqual([['unsent', 'CONNECTION_LOST']]);
    expect(closes.map((reason) => reason.code)).toEqual(['BAD_REPLY']);
  });

  it('closes when a tube could not be used, so that nothing lands in another one', async () => {
    const { wire, connection, closes, results, note } = setup();
    connection.put('t', [Buffer.from('x')], OPTIONS, note('put'));
    await turn();
    await wire.say('OUT_OF_MEMORY\r\nINSERTED 1\r\n');
    expect(results).toEqual([['put', 'CONNECTION_LOST?']]);
    expect(closes.map((reason) => reason.code)).toEqual(['OUT_OF_MEMORY']);
  });

  it('gives no more replies once a callback closed it', async () => {
    const { wire, connection, results, note } = setup();
    connection.touch('1', () => connection.close());
    connection.touch('2', note('second'));
    await turn();
    await wire.say('TOUCHED\r\nTOUCHED\r\n');
    expect(results).toEqual([['second', 'CLOSED?']]);
  });

  it('quits when all before it are answered, and takes no more', async () => {
    const { wire, connection, closes, results, note } = setup();
    connection.touch('1', note('before'));
    connection.quit();
    connection.quit();
    connection.touch('2', note('after'));
    await turn();
    expect(wire.writes).toEqual(['touch 1\r\nquit\r\n']);
    expect(closes).toEqual([]);
    await wire.say('TOUCHED\r\n');
    wire.push(null);
    await turn();
    expect(results).toEqual([
      ['after', 'CLOSED'],
      ['before', 'TOUCHED'],
    ]);
    expect(closes.map((reason) => reason.code)).toEqual(['CLOSED']);
  });

  it('knows that a socket which never connected transmitted nothing', async () => {
    const wire = new Wire();
    wire.connecting = true;
    const { connection, results, note } = setup(wire);
    connection.put('default', [Buffer.from('x')], OPTIONS, note('put'));
    await turn();
    wire.destroy(new Error('connect ECONNREFUSED'));
    await turn();
    expect(results).toEqual([['put', 'CONNECTION_LOST']]);
  });
});

describe('Connection: deadlines', () => {
  it('gives up when the oldest command gets no reply in time, and fails all', async () => {
    const { clock, connection, closes, results, note } = setup();
    connection.touch('1', note('first'));
    connection.touch('2', note('second'));
    await clock.advance(499);
    expect(results).toEqual([]);
    await clock.advance(1);
    expect(results).toEqual([
      ['first', 'DEADLINE?'],
      ['second', 'CONNECTION_LOST?'],
    ]);
    expect(closes.map((reason) => reason.message)).toEqual(['DEADLINE: no reply to `touch 1` within 500 ms']);
  });

  it('counts from when a command becomes the oldest', async () => {
    const { wire, clock, connection, results, note } = setup();
    connection.touch('1', note('first'));
    connection.touch('2', note('second'));
    await clock.advance(400);
    await wire.say('TOUCHED\r\n');
    await clock.advance(499);
    expect(results).toEqual([['first', 'TOUCHED']]);
    await clock.advance(1);
    expect(results).toEqual([
      ['first', 'TOUCHED'],
      ['second', 'DEADLINE?'],
    ]);
  });

  it('counts from the sending where that is later', async () => {
    const { wire, clock, connection, results, note } = setup();
    connection.touch('1', note('first'));
    await turn();
    await wire.say('TOUCHED\r\n');
    await clock.advance(10_000);
    connection.touch('2', note('second'));
    await clock.advance(499);
    expect(results).toHaveLength(1);
    await clock.advance(1);
    expect(results).toEqual([
      ['first', 'TOUCHED'],
      ['second', 'DEADLINE?'],
    ]);
  });

  it('gives a reserve with a timeout that much longer, and what follows its own deadline', async () => {
    const { wire, clock, connection, results, note } = setup();
    connection.reserveWithTimeout(5, note('reserve'));
    await clock.advance(4_000);
    await wire.say('RESERVED 1 0\r\n\r\n');
    connection.touch('1', note('touch'));
    await clock.advance(499);
    expect(results).toHaveLength(1);
    await clock.advance(1);
    expect(results[1]).toEqual(['touch', 'DEADLINE?']);
  });

  it('gives up a reserve with a timeout that is not answered either', async () => {
    const { clock, connection, results, note } = setup();
    connection.reserveWithTimeout(5, note('reserve'));
    await clock.advance(5_499);
    expect(results).toEqual([]);
    await clock.advance(1);
    expect(results).toEqual([['reserve', 'DEADLINE?']]);
  });

  it('gives one command a deadline of its own', async () => {
    const { clock, connection, results, note } = setup();
    connection.stats(note('stats'), 5_000);
    await clock.advance(4_999);
    expect(results).toEqual([]);
    await clock.advance(1);
    expect(results).toEqual([['stats', 'DEADLINE?']]);
  });

  it('takes part of a reply for no reply', async () => {
    const { wire, clock, connection, results, note } = setup();
    connection.touch('1', note('touch'));
    await clock.advance(400);
    await wire.say('TOUCH');
    await clock.advance(100);
    expect(results).toEqual([['touch', 'DEADLINE?']]);
  });

  it('reads what already waits in the socket before it gives up', async () => {
    const { wire, clock, connection, results, note } = setup();
    connection.touch('1', note('touch'));
    jest.spyOn(clock, 'soon').mockImplementation((callback) => {
      wire.push('TOUCHED\r\n'); // it came while the event loop was blocked
      setImmediate(callback);
    });
    await clock.advance(500);
    expect(results).toEqual([['touch', 'TOUCHED']]);
    expect(connection.closed).toBe(false);
  });

  it('tells of a connection that was not made in time that nothing was sent', async () => {
    const wire = new Wire();
    wire.connecting = true;
    const { clock, connection, results, note } = setup(wire);
    connection.put('default', [Buffer.from('x')], OPTIONS, note('put'));
    await clock.advance(500);
    expect(results).toEqual([['put', 'DEADLINE']]);
  });

  it('has one timer for many commands, and none after the close', async () => {
    const { clock, connection, note } = setup();
    const after = jest.spyOn(clock, 'after');
    for (let i = 0; i < 100; i++) connection.touch('1', note('touch'));
    await turn();
    expect(after).toHaveBeenCalledTimes(1);
    connection.close();
    await clock.advance(10_000);
    expect(after).toHaveBeenCalledTimes(1);
  });
});
