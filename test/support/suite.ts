import { afterAll, afterEach, beforeAll } from '@jest/globals';
import type { DqOptions } from 'nest-dq/src/nest/options.js';
import { Proxy } from 'test-servers';
import { startServers, startSystem, type Servers, type System } from './system.js';

interface Closing {
  close(): Promise<unknown>;
}

/** What the tests of a file open: all of it is closed after the test. */
export function closedAfterEach<T extends Closing>(): T[] {
  const open: T[] = [];
  afterEach(async () => {
    await Promise.all(open.splice(0).map((each) => each.close()));
  }, 60_000);
  return open;
}

/** The servers of a spec file, and what its tests start beside: all are stopped by themselves. */
export interface Suite {
  readonly servers: Servers;
  start(options?: DqOptions): System;
  /** A way to Redis that can be cut. */
  redisProxy(): Promise<Proxy>;
}

/** To be called at the top of a spec file. A first run on a bare machine installs the servers, hence the long limit. */
export function clusterSuite(): Suite {
  let servers: Servers;
  const open = closedAfterEach();
  beforeAll(async () => {
    servers = await startServers();
  }, 120_000);
  afterAll(() => servers.stop());
  return {
    get servers() {
      return servers;
    },
    start: (options) => {
      const system = startSystem(servers, options);
      open.push({ close: system.stop });
      return system;
    },
    redisProxy: async () => {
      const proxy = await Proxy.to(servers.redis);
      open.push({ close: () => proxy.stop() });
      return proxy;
    },
  };
}
