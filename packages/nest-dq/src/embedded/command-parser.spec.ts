import { describe, expect, it } from '@jest/globals';
import { parseCommand } from './command-parser.js';

describe('parseCommand', () => {
  it.each([
    ['put 1 2 3 4', { verb: 'put', pri: 1, delay: 2, ttr: 3, size: 4, hasMore: false }],
    ['put   01  2 3 65536 and more', { verb: 'put', pri: 1, delay: 2, ttr: 3, size: 65_536, hasMore: true }],
    ['use t', { verb: 'use', tube: 't' }],
    ['watch (a)', { verb: 'watch', tube: '(a)' }],
    ['ignore t', { verb: 'ignore', tube: 't' }],
    ['reserve', { verb: 'reserve' }],
    ['reserve-with-timeout 5', { verb: 'reserve-with-timeout', seconds: 5 }],
    ['reserve-with-timeout \t-1s', { verb: 'reserve-with-timeout', seconds: -1 }],
    ['reserve-with-timeout 4294967297', { verb: 'reserve-with-timeout', seconds: 1 }],
    ['reserve-with-timeout +7', { verb: 'reserve-with-timeout', seconds: 7 }],
    ['reserve-job 9', { verb: 'reserve-job', id: 9 }],
    ['delete 9', { verb: 'delete', id: 9 }],
    ['release 9 1 2', { verb: 'release', id: 9, pri: 1, delay: 2 }],
    ['bury 9 1', { verb: 'bury', id: 9, pri: 1 }],
    ['touch 9', { verb: 'touch', id: 9 }],
    ['kick 3', { verb: 'kick', count: 3 }],
    ['kick -1', { verb: 'kick', count: 4_294_967_295 }],
    ['kick-job 9', { verb: 'kick-job', id: 9 }],
    ['peek 9', { verb: 'peek', id: 9 }],
    ['peek-ready', { verb: 'peek-ready' }],
    ['peek-delayed', { verb: 'peek-delayed' }],
    ['peek-buried', { verb: 'peek-buried' }],
    ['stats', { verb: 'stats' }],
    ['stats-job 9', { verb: 'stats-job', id: 9 }],
    ['stats-tube t', { verb: 'stats-tube', tube: 't' }],
    ['list-tubes', { verb: 'list-tubes' }],
    ['list-tube-used', { verb: 'list-tube-used' }],
    ['list-tubes-watched', { verb: 'list-tubes-watched' }],
    ['pause-tube t 5', { verb: 'pause-tube', tube: 't', delay: 5 }],
    ['pause-tube -t 5', { verb: 'pause-tube', tube: '-t', delay: 5 }],
    ['quit', { verb: 'quit' }],
    ['quitter', { verb: 'quit' }],
  ])('reads %j', (line, command) => {
    expect(parseCommand(line)).toEqual(command);
  });

  it.each(['', ' stats', 'STATS', 'put', 'kick', 'delete', 'use', 'release'])('does not know %j', (line) => {
    expect(parseCommand(line)).toBe('UNKNOWN_COMMAND');
  });

  it.each([
    'put 1 2 3',
    'put 4294967296 2 3 4',
    'put 1 -2 3 4',
    'release 1 2',
    'bury 1',
    'delete 18446744073709551616',
    'delete 99999999999999999999999',
    'kick x',
    'kick -18446744073709551616',
    'reserve-with-timeout -9223372036854775809',
    'use -t',
    `use ${'t'.repeat(201)}`,
    'use t\xe9',
    'watch t ',
    'pause-tube t',
    'statsx',
    'stats\0',
  ])('finds %j in a bad format', (line) => {
    expect(parseCommand(line)).toBe('BAD_FORMAT');
  });
});
