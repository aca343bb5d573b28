import { afterAll, afterEach, beforeAll } from '@jest/globals';
import type { DqOptions } from 'nest-dq/src/nest/options.js';
import { Proxy } from 'test-servers';
import { startServers, startSystem, type Servers, type System } from './system.js';

interface Closing {
  close(): Promise<unknown>;
}

/** Returns a list for everything that a test opens. All of it is closed after the test. */
export function closedAfterEach<T extends Closing>(): T[] {
  const open: T[] = [];
  afterEach(async () => {
    await Promise.all(open.splice(0).map((each) => each.close()));
  }, 60_000);
  return open;
}

/** The servers of a spec file, and what its tests start on them. All of it is stopped automatically. */
export interface Suite {
  readonly servers: Servers;
  start(options?: DqOptions): System;
  /** Starts a proxy to Redis, which a test can cut. */
  redisProxy(): Promise<Proxy>;
}

/** Call it at the top of a spec file. The timeout is long, because the first run on a new machine installs the servers. */
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
