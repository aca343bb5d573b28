import { mkdtemp, rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { INestApplication } from '@nestjs/common';
import { Test, type TestingModuleBuilder } from '@nestjs/testing';
import { AppModule } from '../src/app.module.js';
import { readSettings, settings } from '../src/settings.js';

export interface Answer {
  readonly status: number;
  readonly body: any;
}

/** Puts a part of an application under test, as the kits of nest-dq and nest-kq do. */
export interface Kit {
  override(builder: TestingModuleBuilder): TestingModuleBuilder;
}

/** The whole application on a free port, in a folder of its own unless `env` names one; under kits, if some are given. */
export class TestApp {
  private constructor(
    readonly nest: INestApplication,
    private readonly folder: string,
  ) {}

  static async start(env: NodeJS.ProcessEnv, ...kits: Kit[]): Promise<TestApp> {
    const folder = await mkdtemp(join(tmpdir(), 'sample-app-'));
    const builder = Test.createTestingModule({ imports: [AppModule] })
      .overrideProvider(settings.KEY)
      .useValue(readSettings({ DATA_DIR: folder, ...env }));
    const module = await kits.reduce((before, kit) => kit.override(before), builder).compile();
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

  async close(): Promise<void> {
    await this.nest.close();
    await rm(this.folder, { recursive: true, force: true });
  }
}
