import { mkdtemp, rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { INestApplication } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import type { DqTestKit } from 'nest-dq/testing';
import { AppModule } from '../src/app.module.js';
import { readSettings, settings } from '../src/settings.js';

const ASK_EVERY = 20;

export interface Answer {
  readonly status: number;
  readonly body: any;
}

/** The whole application on a free port, in a folder of its own unless `env` names one; under a kit, if one is given. */
export class TestApp {
  private constructor(
    readonly nest: INestApplication,
    private readonly folder: string,
  ) {}

  static async start(env: NodeJS.ProcessEnv, kit?: DqTestKit): Promise<TestApp> {
    const folder = await mkdtemp(join(tmpdir(), 'sample-app-'));
    const builder = Test.createTestingModule({ imports: [AppModule] })
      .overrideProvider(settings.KEY)
      .useValue(readSettings({ DATA_DIR: folder, ...env }));
    const module = await (kit?.override(builder) ?? builder).compile();
    const nest = module.createNestApplication({ logger: false, forceCloseConnections: true });
    await nest.listen(0, '127.0.0.1');
    return new TestApp(nest, folder);
  }

  /** `body` is sent as JSON, but a text as it is. */
  async request(method: 'GET' | 'POST' | 'DELETE', path: string, body?: unknown): Promise<Answer> {
    const { port } = this.nest.getHttpServer().address() as AddressInfo;
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      headers: { 'content-type': 'application/json' },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    return { status: response.status, body: await response.json() };
  }

  /** Asks until the answer is as wanted, as topics take their time. */
  async answer(path: string, isWanted: (body: any) => unknown): Promise<any> {
    for (;;) {
      const { body } = await this.request('GET', path);
      if (isWanted(body)) return body;
      await setTimeout(ASK_EVERY);
    }
  }

  async close(): Promise<void> {
    await this.nest.close();
    await rm(this.folder, { recursive: true, force: true });
  }
}
