import { expect, it } from '@jest/globals';
import { awayCause } from './away-cause.js';

it.each([
  ['connect ECONNREFUSED 127.0.0.1:6379', 'refused'],
  ['CONNECTION_LOST: connect ECONNREFUSED 10.0.0.1:11300', 'refused'],
  ['the connection was closed', 'closed'],
  ['Connection is closed.', 'closed'],
  ['CONNECTION_LOST: the server ended the connection', 'closed'],
  ['read ECONNRESET', 'closed'],
  ['no answer within 1000 ms', 'silent'],
  ['DEADLINE: no reply to `stats` within 500 ms', 'silent'],
  ['connect ETIMEDOUT', 'silent'],
  ['connect EHOSTUNREACH 10.0.0.1:6379', 'unreachable'],
  ['getaddrinfo ENOTFOUND redis', 'unknown-host'],
  ["the server's certificate has expired (CERT_HAS_EXPIRED)", 'tls'],
  ['LOADING Redis is loading the dataset in memory', 'loading'],
  ['NOAUTH Authentication required.', 'denied'],
  ['WRONGPASS invalid username-password pair or user is disabled.', 'denied'],
  ["NOPERM this user has no permissions to run the 'zadd' command", 'denied'],
  ["READONLY You can't write against a read only replica.", 'replica'],
  ["OOM command not allowed when used memory > 'maxmemory'.", 'full'],
  ['MISCONF Redis is configured to save RDB snapshots', 'disk'],
  ['it rejects new jobs (OUT_OF_MEMORY)', 'rejects'],
  ['its binlog has stopped', 'binlog'],
  ['it is the same server as 10.0.0.1:11300', 'twin'],
  ['cannot open a connection to reserve from tube mail (CONNECTION_LOST: …)', 'lanes'],
  ['not connected yet', 'connecting'],
  ["Stream isn't writeable and enableOfflineQueue options is false", 'connecting'],
  ['ERR unknown command', 'other'],
  ['', 'other'],
] as const)('%j is %s', (reason, cause) => {
  expect(awayCause(reason)).toBe(cause);
});
