import { expect, it } from '@jest/globals';
import { SCRIPTS } from '../ledger/redis/connection.js';
import { FLEET_SCRIPTS } from './redis-fleet.js';

it('tries every command that the scripts run', () => {
  const commandsIn = (lua: string, call: RegExp) =>
    new Set(Array.from(lua.matchAll(call), ([, name]) => name));
  const run = commandsIn(Object.values({ ...SCRIPTS, ...FLEET_SCRIPTS }).join(), /\bcall\('([A-Z]+)'/g);
  expect(run.size).toBeGreaterThan(10);
  expect(commandsIn(SCRIPTS['dq:probe']!, /\bneed\('([A-Z]+)'/g)).toEqual(run);
});
