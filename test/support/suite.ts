import { afterAll, afterEach, beforeAll } from '@jest/globals';
import type { DqOptions } from 'nest-dq/src/nest/options.js';
import { startServers, startSystem, type Servers, type System } from './system.js';

/** The servers of a spec file, and the systems that its tests start: all are stopped by themselves. */
export interface Suite {
  readonly servers: Servers;
  start(options?: DqOptions): System;
}

/** To be called at the top of a spec file. A first run on a bare machine installs the servers, hence the long limit. */
export function clusterSuite(): Suite {
  let servers: Servers;
  const systems: System[] = [];
  beforeAll(async () => {
    servers = await startServers();
  }, 120_000);
  afterEach(async () => {
    await Promise.all(systems.splice(0).map((system) => system.stop()));
  }, 60_000);
  afterAll(() => servers.stop());
  return {
    get servers() {
      return servers;
    },
    start: (options) => {
      const system = startSystem(servers, options);
      systems.push(system);
      return system;
    },
  };
}
