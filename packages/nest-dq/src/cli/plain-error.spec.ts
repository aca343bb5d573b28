import { expect, it } from '@jest/globals';
import { DqError } from '../errors.js';
import { NOT_TRIED } from '../cluster/cluster.js';
import { plainError, plainReason } from './plain-error.js';

it('an error has its code at its end, and what to do, instead of the reason of each node', () => {
  const nodes = {
    '10.0.0.1:11300': 'CONNECTION_LOST: the connection failed: connect ECONNREFUSED 10.0.0.1:11300',
    '10.0.0.2:11300': 'CONNECTION_LOST: the connection failed: connect ECONNREFUSED 10.0.0.2:11300',
  };
  const tried = { ...nodes, '10.0.0.3:11300': NOT_TRIED };
  const reasons = Object.entries(tried).map(([node, reason]) => `${node}: ${reason}`);
  const fact = `stored on 0 of 3 nodes, need 2: ${reasons.join('; ')}; the job is unchanged; tried 3 times in 5.0 s`;
  expect(plainError(new DqError('DQ_TOO_FEW_COPIES', fact, { nodes: tried }))).toBe(
    'stored on 0 of 3 nodes, need 2: no copy stored on 10.0.0.1:11300, 10.0.0.2:11300; the job is unchanged; tried 3 times ' +
      'in 5.0 s → `nest-dq doctor` says what is wrong with the nodes (DQ_TOO_FEW_COPIES)',
  );
});

it.each([
  ['CONNECTION_LOST: the connection failed: connect ECONNREFUSED n:1', 'connect ECONNREFUSED n:1'],
  ['DEADLINE: no reply to `stats` within 500 ms', 'no answer within 500 ms'],
  ['its binlog has stopped', 'its binlog has stopped'],
])('the reason why a node is down has no code: %s', (reason, plain) => {
  expect(plainReason(reason)).toBe(plain);
});

it('an error within another has no code', () => {
  expect(plainError(new DqError('DQ_CLOSED', 'given up: DQ_LEDGER_DOWN: Redis did not answer'))).toBe(
    'given up: Redis did not answer (DQ_CLOSED)',
  );
  expect(plainError(new Error('a plain one'))).toBe('a plain one');
});
