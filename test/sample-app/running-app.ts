import { mkdtemp, rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { INestApplication } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import type { DqTestKit } from 'nest-dq/testing';
import { AppModule } from '../../sample-app/src/app.module.js';
import { Settings } from '../../sample-app/src/settings.js';

export interface Answer {
  readonly status: number;
  readonly body: any;
}

/**
 * The sample application on a free port, as an operator would set it, and its clients; its jobs under a kit, if one is given.
 * It has a folder of its own unless the settings name one.
 */
export class RunningApp {
  private constructor(
    readonly nest: INestApplication,
    private readonly url: string,
    private readonly folder: string,
  ) {}

  static async start(env: NodeJS.ProcessEnv, kit?: DqTestKit): Promise<RunningApp> {
    const folder = await mkdtemp(join(tmpdir(), 'sample-app-'));
    const settings = new Settings({ DATA_DIR: folder, ...env });
    const builder = Test.createTestingModule({ imports: [AppModule.forRoot(settings)] });
    const module = await (kit?.override(builder) ?? builder).compile();
    const nest = module.createNestApplication({ logger: false, forceCloseConnections: true });
    await nest.listen(0, '127.0.0.1');
    const { port } = nest.getHttpServer().address() as AddressInfo;
    return new RunningApp(nest, `http://127.0.0.1:${port}`, folder);
  }

  get(path: string): Promise<Answer> {
    return this.request('GET', path);
  }

  delete(path: string): Promise<Answer> {
    return this.request('DELETE', path);
  }

  /** Any value is sent as JSON, a text as it is. */
  post(path: string, body?: unknown): Promise<Answer> {
    return this.request('POST', path, body);
  }

  async close(): Promise<void> {
    await this.nest.close();
    await rm(this.folder, { recursive: true, force: true });
  }

  private async request(method: string, path: string, body?: unknown): Promise<Answer> {
    const response = await fetch(this.url + path, {
      method,
      ...(body === undefined
        ? {}
        : {
            headers: { 'content-type': 'application/json' },
            body: typeof body === 'string' ? body : JSON.stringify(body),
          }),
    });
    return { status: response.status, body: await response.json() };
  }
}
