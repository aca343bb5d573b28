import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { VirtualClock } from 'nest-handlers/testing';
import { Talker } from '../../spec-support/talker.js';
import { VERBS } from './command-parser.js';
import { duplexPair, InProcessNode } from './in-process-node.js';
import { resolveServing, type ServingOptions } from './listen-options.js';

let clock: VirtualClock;
let node: InProcessNode;

beforeEach(() => {
  clock = new VirtualClock();
  node = new InProcessNode(clock);
});

afterEach(() => node.close());

function connect(options: ServingOptions): Talker {
  const { client, server } = duplexPair(clock);
  node.serve(server, resolveServing(options).denied);
  return new Talker(clock, node, client);
}

const PUT = 'put 0 0 60 1\r\nx\r\n';

describe('a place that denies commands', () => {
  it('does not know them, and knows all others', async () => {
    const client = connect({ deny: ['pause-tube', 'kick'] });
    expect(await client.says(`pause-tube default 9\r\nkick 9\r\nkick-job 9\r\n${PUT}`)).toBe(
      'UNKNOWN_COMMAND\r\nUNKNOWN_COMMAND\r\nNOT_FOUND\r\nINSERTED 1\r\n',
    );
  });

  it('takes the body of a put that it denies, in any split, and takes nothing in it for a command', async () => {
    const client = connect({ deny: ['put'] });
    const body = 'delete 1\r\n'.repeat(3);
    const bytes = `put 0 0 60 ${body.length}\r\n${body}\r\nlist-tube-used\r\n`;
    expect(await client.says(bytes)).toBe('UNKNOWN_COMMAND\r\nUSING default\r\n');
    let heard = '';
    for (const byte of bytes) heard += await client.says(byte);
    expect(heard).toBe('UNKNOWN_COMMAND\r\nUSING default\r\n');
    expect(await client.says(`put 0 0 60 99999\r\n${'x'.repeat(99_999)}\r\nstats\r\n`)).toMatch(
      /^UNKNOWN_COMMAND\r\nOK \d+\r\n[^]*\ncmd-put: 0\n/,
    );
  });

  it('reads a denied command that is no command as such', async () => {
    const client = connect({ deny: ['put', 'pause-tube'] });
    expect(await client.says('put 0 0 x\r\npause-tube\r\n')).toBe('BAD_FORMAT\r\nBAD_FORMAT\r\n');
  });
});

describe('a place that is read-only', () => {
  it('lets nobody change anything, next to another place that does', async () => {
    const [full, reads] = [connect({}), connect({ readOnly: true })];
    expect(await full.says(`use t\r\n${PUT}watch t\r\nreserve\r\n`)).toMatch(
      /INSERTED 1\r\n.*\r\nRESERVED 1/,
    );
    const denied = [
      'reserve',
      'reserve-with-timeout 0',
      'reserve-job 1',
      'delete 1',
      'release 1 0 0',
      'bury 1 0',
      'touch 1',
      'kick 1',
      'kick-job 1',
      'watch x',
      'ignore default',
      'pause-tube t 1',
    ];
    const asked = [...denied, PUT.trimEnd()].map((line) => `${line}\r\n`).join('');
    expect(await reads.says(asked)).toBe('UNKNOWN_COMMAND\r\n'.repeat(13));
    const answered = [
      ['use t', 'USING t'],
      ['peek 1', 'FOUND 1 1\r\nx'],
      ['peek-ready', 'NOT_FOUND'],
      ['peek-delayed', 'NOT_FOUND'],
      ['peek-buried', 'NOT_FOUND'],
      ['list-tube-used', 'USING t'],
    ];
    for (const [command, reply] of answered) expect(await reads.says(`${command}\r\n`)).toBe(`${reply}\r\n`);
    const texts = ['stats', 'stats-job 1', 'stats-tube t', 'list-tubes', 'list-tubes-watched'];
    for (const command of texts) expect(await reads.says(`${command}\r\n`)).toMatch(/^OK \d+\r\n---\n/);
    expect(denied.length + 1 + answered.length + texts.length + 1).toBe(VERBS.length); // the last is `quit`
    await reads.says('quit\r\n');
    expect(reads.hasEnded).toBe(true);
  });
});
