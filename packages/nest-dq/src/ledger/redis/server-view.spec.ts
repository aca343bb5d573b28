import { expect, it } from '@jest/globals';
import { factsOf } from './server-check.js';

it('a server is shown as its INFO describes it', () => {
  const info = [
    '# Server',
    'redis_version:7.0.15',
    'role:master',
    'used_memory:1048576',
    'maxmemory:2097152',
    'total_system_memory:4194304',
    'maxmemory_policy:noeviction',
    'aof_enabled:1',
  ];
  expect(factsOf(info.join('\r\n'))).toEqual({
    version: '7.0.15',
    role: 'master',
    memory: 1_048_576,
    memoryLimit: 2_097_152,
    machineMemory: 4_194_304,
    policy: 'noeviction',
    appendOnly: true,
  });
});

it('what INFO does not report, or leaves unlimited, is absent', () => {
  expect(factsOf('redis_version:7.2.4\r\nmaxmemory:0\r\naof_enabled:0\r\n')).toEqual({
    version: '7.2.4',
    appendOnly: false,
  });
});
