import type { Abstract, INestApplication, ModuleMetadata, Type } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { DqModule, DqProducer } from 'nest-dq';
import { DqDeadLetters, type DeadLetter } from 'nest-dq/operate';
import { eventually } from 'test-servers';
import { closedAfterEach } from './suite.js';

/** An application with a web server. Its jobs have one attempt. */
export class EnhancedApp {
  readonly lines: string[] = [];
  private started?: INestApplication;
  private sent = 0;

  get app(): INestApplication {
    if (!this.started) throw new Error('the application was not started');
    return this.started;
  }

  get<T>(type: Type<T> | Abstract<T>): T {
    return this.app.get(type);
  }

  async start(metadata: ModuleMetadata, before?: (app: INestApplication) => void): Promise<this> {
    const log = (message: string) => void this.lines.push(message);
    const dq = DqModule.forRoot({ logger: { log, warn: log, error: log }, handlers: { attempts: 1 } });
    const module = await Test.createTestingModule({ ...metadata, imports: [dq, ...(metadata.imports ?? [])] })
      .setLogger({ log() {}, warn() {}, error() {} })
      .compile();
    this.started = module.createNestApplication();
    before?.(this.app);
    await this.app.init();
    return this;
  }

  /** Runs one job to its end. Resolves with its dead letter, or undefined if it is done. */
  async run(
    tube: string,
    payload: unknown,
    headers?: Record<string, string>,
  ): Promise<DeadLetter | undefined> {
    const dq = this.app.get(DqProducer);
    const key = `run ${++this.sent}`;
    const { ref } = await dq.now(tube, payload, { key, headers });
    let state: string | undefined;
    await eventually('it ended', async () => {
      state = (await dq.find(ref))?.state;
      return state === 'done' || state === 'dead';
    });
    return state === 'dead' ? this.app.get(DqDeadLetters).get(ref) : undefined;
  }

  /** Runs one job. Resolves with the error that made it a dead letter, or undefined if it is done. */
  async failure(tube: string, payload: unknown): Promise<{ name: string; message: string } | undefined> {
    const error = (await this.run(tube, payload))?.error;
    return error && { name: error.name, message: error.message };
  }

  /** Works also after a start that failed. */
  async close(): Promise<void> {
    await this.started?.close();
  }

  about(text: string): string[] {
    return this.lines.filter((line) => line.includes(text));
  }
}

/** Returns a function with which the tests of a file start applications. They are closed after each test. */
export function enhancedApps(): (
  metadata: ModuleMetadata,
  before?: (app: INestApplication) => void,
) => Promise<EnhancedApp> {
  const apps = closedAfterEach<EnhancedApp>();
  return (metadata, before) => {
    const app = new EnhancedApp();
    apps.push(app);
    return app.start(metadata, before);
  };
}
