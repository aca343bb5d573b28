import { expect, it } from '@jest/globals';
import { linesOf } from 'nest-handlers/cli';
import type { NodeView } from '../operate/node-view.js';
import { showNodes } from './nodes.js';

const page = { width: 80, wideFlag: '--wide', paint: (_: unknown, text: string) => text };
const well: NodeView = {
  endpoint: '127.0.0.1:19511',
  up: true,
  drained: false,
  version: '1.12',
  uptime: 1_469_000,
  copies: { ready: 0, delayed: 807, reserved: 1, buried: 5 },
  connections: 6,
  binlog: 'working',
};

it('80 columns show all of the nodes but their version, and the whole reason why one is down', () => {
  const down: NodeView = {
    endpoint: '127.0.0.1:19512',
    up: false,
    drained: false,
    reason: 'CONNECTION_LOST: the connection failed: connect ECONNREFUSED 127.0.0.1:19512',
  };
  expect(linesOf([showNodes([well, down])], page)).toEqual([
    'NODE             STATE  UPTIME   READY  DELAYED  RESERVED  BURIED  CONN  BINLOG',
    '127.0.0.1:19511  up     24m 29s  0      807      1         5       6     working',
    '127.0.0.1:19512  down   –        –      –        –         –       –     –',
    '    connect ECONNREFUSED 127.0.0.1:19512',
    'VERSION left out; --wide shows it',
  ]);
});
