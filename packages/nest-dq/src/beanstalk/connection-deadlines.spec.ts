import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { Wire, turn, OPTIONS, setup } from '../../spec-support/wire.js';

afterEach(() => {
  jest.restoreAllMocks();
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

  it('does not take part of a reply for a reply', async () => {
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

  it('reports that nothing was sent if the connection was not made in time', async () => {
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
