import { describe, expect, it } from '@jest/globals';
import { systemClock } from 'nest-handlers/time';
import { Wire, turn, OPTIONS, setup } from '../../spec-support/wire.js';

describe('Connection: closing', () => {
  it('fails all waiting commands, once each, saying which were sent', async () => {
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

  it('fails calls after the close by the callback, asynchronously', async () => {
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

  it.each(['BURIED\r\n', 'OK 3\r\n---\r\n'])('does not accept %j as the answer to a put', async (reply) => {
    const { wire, connection, results, note } = setup();
    connection.put('default', [], OPTIONS, note('asked'));
    await turn();
    await wire.say(reply);
    expect(results).toEqual([['asked', 'BAD_REPLY?']]);
  });

  it('closes on a reply that nothing asked for', async () => {
    const { wire, clock, connection, closes, results, note } = setup();
    clock.next = (callback) => systemClock.next(callback); // a real tick, before which the wire says something
    connection.touch('1', note('unsent'));
    wire.push('TOUCHED\r\n');
    await turn();
    expect(results).toEqual([['unsent', 'CONNECTION_LOST']]);
    expect(closes.map((reason) => reason.code)).toEqual(['BAD_REPLY']);
  });

  it('closes when a tube could not be used, so that no job lands in another one', async () => {
    const { wire, connection, closes, results, note } = setup();
    connection.put('t', [Buffer.from('x')], OPTIONS, note('put'));
    await turn();
    await wire.say('OUT_OF_MEMORY\r\nINSERTED 1\r\n');
    expect(results).toEqual([['put', 'CONNECTION_LOST?']]);
    expect(closes.map((reason) => reason.code)).toEqual(['OUT_OF_MEMORY']);
  });

  it('delivers no more replies once a callback closed it', async () => {
    const { wire, connection, results, note } = setup();
    connection.touch('1', () => connection.close());
    connection.touch('2', note('second'));
    await turn();
    await wire.say('TOUCHED\r\nTOUCHED\r\n');
    expect(results).toEqual([['second', 'CLOSED?']]);
  });

  it('quits when all earlier commands are answered, and takes no more', async () => {
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

  it('knows that a socket that never connected transmitted nothing', async () => {
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
