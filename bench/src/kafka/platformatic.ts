import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { newGroup, type Handle, type StreamClient, type StreamLibrary } from './client.js';
import type { Message } from './messages.js';

/** The folder of `@platformatic/kafka`, which needs a newer Node than this repository; undefined where nobody names one. */
export const PLATFORMATIC = process.env.PLATFORMATIC_KAFKA;

/** The exports that the benchmark uses. */
interface Module {
  readonly Producer: new (options: object) => Producer;
  readonly Consumer: new (options: object) => Consumer;
}

interface Producer {
  send(options: { readonly messages: readonly object[]; readonly acks: number }): Promise<unknown>;
  close(): Promise<void>;
}

interface Consumer {
  consume(options: object): Promise<Stream>;
  close(force: boolean): Promise<void>;
}

interface Stream {
  on(event: 'data', listener: (message: { readonly value: Buffer }) => void): unknown;
}

/** As its documentation shows it. */
export const platformatic: StreamLibrary = {
  async connect(endpoint) {
    const entry = pathToFileURL(join(PLATFORMATIC!, 'dist/index.js'));
    const module = (await import(entry.href)) as Module;
    return new PlatformaticClient(endpoint, module);
  },
};

class PlatformaticClient implements StreamClient {
  private readonly producer: Producer;

  constructor(
    private readonly endpoint: string,
    private readonly module: Module,
  ) {
    this.producer = new module.Producer({ clientId: 'bench', bootstrapBrokers: [endpoint] });
  }

  push(topic: string, message: Message): Promise<unknown> {
    const { key } = message;
    const value = Buffer.from(JSON.stringify(message));
    return this.producer.send({ messages: [{ topic, key: Buffer.from(key), value }], acks: -1 });
  }

  async consume(topic: string, handle: Handle): Promise<() => Promise<void>> {
    const groupId = newGroup();
    const consumer = new this.module.Consumer({
      clientId: 'bench',
      bootstrapBrokers: [this.endpoint],
      groupId,
    });
    const stream = await consumer.consume({ topics: [topic], mode: 'committed', fallbackMode: 'earliest' });
    stream.on('data', ({ value }) => void handle(JSON.parse(value.toString()) as Message));
    return () => consumer.close(true);
  }

  close(): Promise<void> {
    return this.producer.close();
  }
}
