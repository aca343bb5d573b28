// Formats by a real schema registry.
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { defineTopic, KqEvents, KqModule, KqPusher, TopicHandler, type KqMessage } from 'nest-kq';
import { SchemaRegistry, type AvroOptions } from 'nest-kq/registry';
import { eventually, startSchemaRegistry, type SchemaRegistryServer } from 'test-servers';

const SILENT = { log: () => {}, debug: () => {}, warn: () => {}, error: () => {} };
const ORDER = {
  type: 'record',
  name: 'Order',
  namespace: 'shop',
  fields: [
    { name: 'id', type: 'string' },
    { name: 'cents', type: 'long' },
  ],
};
const PROTO = `
syntax = "proto3";
package shop;
import "google/protobuf/timestamp.proto";
message Note { string text = 1; }
message Order {
  message Line { string sku = 1; int64 cents = 2; }
  enum State { OPEN = 0; PAID = 1; }
  string order_id = 1;
  repeated Line lines = 2;
  State state = 3;
  map<string, int32> counts = 4;
  bytes raw = 5;
  google.protobuf.Timestamp placed_at = 6;
  Note note = 7;
}`;

let server: SchemaRegistryServer;
beforeAll(async () => {
  server = await startSchemaRegistry();
}, 600_000);
afterAll(() => server.stop());

const registry = () => new SchemaRegistry({ url: server.url });

describe('Avro', () => {
  it('registers its schema on request, and is readable with only the registry', async () => {
    const stored = await registry()
      .avro({ schema: ORDER, register: true })
      .encode({ id: 'a', cents: 250 }, 'avro-1');
    // A zero byte, the id in four bytes, and what Avro's specification makes of the two fields.
    expect(stored.at(0)).toBe(0);
    expect(Buffer.from(stored.subarray(5)).toString('hex')).toBe('0261f403');
    const reader = registry().avro();
    await expect(reader.decode(Buffer.from(stored), 'other')).resolves.toEqual({ id: 'a', cents: 250 });
    const writer = registry().avro(); // by the newest of the subject
    await expect(writer.encode({ id: 'a', cents: 250 }, 'avro-1')).resolves.toEqual(stored);
  });

  it('registers nothing unless asked to', async () => {
    await expect(registry().avro({ schema: ORDER }).encode({ id: 'a', cents: 1 }, 'avro-2')).rejects.toThrow(
      /^KQ_REGISTRY: POST http.*\/subjects\/avro-2-value: the registry answered 404 \(4040[13]\)/,
    );
    await expect(registry().avro().encode({ id: 'a', cents: 1 }, 'avro-2')).rejects.toThrow(
      /^KQ_REGISTRY: GET http.*\/subjects\/avro-2-value\/versions\/latest: the registry answered 404 \(40401\)/,
    );
  });

  it('reads what an older schema wrote, with the defaults of newer fields', async () => {
    const writer = registry().avro({ schema: ORDER, register: true });
    const stored = Buffer.from(await writer.encode({ id: 'a', cents: 1 }, 'avro-3'));
    const newer = {
      ...ORDER,
      fields: [...ORDER.fields, { name: 'currency', type: 'string', default: 'EUR' }],
    };
    await expect(registry().avro({ schema: newer }).decode(stored, 'avro-3')).resolves.toEqual({
      id: 'a',
      cents: 1,
      currency: 'EUR',
    });
    const other = { ...ORDER, fields: [{ name: 'total', type: 'string' }] };
    await expect(async () => registry().avro({ schema: other }).decode(stored, 'avro-3')).rejects.toThrow();
  });

  it('finds types in other subjects by references', async () => {
    const line = {
      type: 'record',
      name: 'Line',
      namespace: 'shop',
      fields: [{ name: 'sku', type: 'string' }],
    };
    await registry().avro({ schema: line, register: true, subject: 'lines' }).encode({ sku: 'a' }, 'any');
    const basket = {
      type: 'record',
      name: 'Basket',
      namespace: 'shop',
      fields: [{ name: 'lines', type: { type: 'array', items: 'shop.Line' } }],
    };
    const references = [{ name: 'shop.Line', subject: 'lines', version: 1 }];
    const options: AvroOptions = { schema: basket, references, register: true };
    const stored = await registry()
      .avro(options)
      .encode({ lines: [{ sku: 'x' }] }, 'avro-4');
    await expect(registry().avro().decode(Buffer.from(stored), 'avro-4')).resolves.toEqual({
      lines: [{ sku: 'x' }],
    });
  });

  it('says where a value is wrong', async () => {
    const encoding = registry()
      .avro({ schema: ORDER, register: true })
      .encode({ id: 'a', cents: 'many' }, 'avro-5');
    await expect(encoding).rejects.toThrow("KQ_BAD_MESSAGE: the value.cents is 'many': expected");
  });

  it.each([
    [
      '007fffffff02',
      /^KQ_BAD_MESSAGE: the stored value refers to schema 2147483647, which the registry does not have/,
    ],
    ['7b7d', /^KQ_BAD_MESSAGE: the stored value is <Buffer 7b 7d>: expected a zero byte and a schema id/],
  ])('refuses the bytes %s for good', async (hex, why) => {
    await expect(async () => registry().avro().decode(Buffer.from(hex, 'hex'), 't')).rejects.toThrow(why);
  });
});

describe('Protobuf', () => {
  const order = {
    orderId: 'a',
    lines: [{ sku: 's', cents: '9007199254740993' }],
    state: 'PAID',
    counts: { a: 1 },
    raw: Buffer.from('x'),
    placedAt: { seconds: '5', nanos: 0 },
    note: null,
  };

  it('brings each kind of field back as it was', async () => {
    const writer = registry().protobuf({ schema: PROTO, register: true, message: 'Order' });
    const stored = Buffer.from(await writer.encode(order, 'proto-1'));
    // Behind the id: one index in zigzag, that of the second type of the file.
    expect(stored.subarray(5, 7).toString('hex')).toBe('0202');
    await expect(registry().protobuf().decode(stored, 'proto-1')).resolves.toEqual(order);
    const latest = registry().protobuf({ message: 'shop.Order' });
    await expect(latest.encode(order, 'proto-1')).resolves.toEqual(stored);
  });

  it('writes the first type of the file with one byte, and types within types by their path', async () => {
    const note = await registry()
      .protobuf({ schema: PROTO, register: true })
      .encode({ text: 'a' }, 'proto-2');
    expect(Buffer.from(note.subarray(5)).toString('hex')).toBe('000a0161');
    const lines = registry().protobuf({ schema: PROTO, message: 'Order.Line' });
    const line = Buffer.from(await lines.encode({ sku: 'a', cents: 5 }, 'proto-2'));
    expect(line.subarray(5).toString('hex')).toBe('0402000a01611005');
    await expect(lines.decode(line, 'proto-2')).resolves.toEqual({ sku: 'a', cents: '5' });
  });

  it('finds imports in other subjects by references', async () => {
    const money = 'syntax = "proto3"; package money; message Sum { int64 cents = 1; }';
    await registry()
      .protobuf({ schema: money, register: true, subject: 'money.proto' })
      .encode({ cents: 1 }, 'any');
    const bill = `syntax = "proto3"; package shop; import "money.proto"; message Bill { money.Sum sum = 1; }`;
    const references = [{ name: 'money.proto', subject: 'money.proto', version: 1 }];
    const writer = registry().protobuf({ schema: bill, references, register: true });
    const stored = Buffer.from(await writer.encode({ sum: { cents: 7 } }, 'proto-3'));
    await expect(registry().protobuf().decode(stored, 'proto-3')).resolves.toEqual({ sum: { cents: '7' } });
  });

  it('refuses a schema of another type', async () => {
    const avro = registry().avro({ schema: ORDER, register: true });
    const stored = Buffer.from(await avro.encode({ id: 'a', cents: 1 }, 'proto-4'));
    await expect(async () => registry().protobuf().decode(stored, 'proto-4')).rejects.toThrow(
      /^KQ_BAD_MESSAGE: schema \d+ is of type AVRO: expected PROTOBUF$/,
    );
  });
});

describe('a topic of Avro in an application', () => {
  let app: TestingModule | undefined;
  afterEach(() => app?.close());

  it('waits while the registry is frozen, and loses no attempt and no message', async () => {
    const topic = 'frozen';
    const own = new SchemaRegistry({ url: server.url, timeout: '300ms' });
    const Orders = defineTopic(topic, { format: own.avro<{ id: string; cents: number }>() });
    const stored = await registry()
      .avro({ schema: ORDER, register: true })
      .encode({ id: 'a', cents: 1 }, topic);
    const handled: [id: string, attempt: number][] = [];
    @Injectable()
    class Shop {
      @TopicHandler(Orders, { retry: { attempts: 1 }, deadLetter: 'lost' })
      place({ id }: { id: string }, { attempt }: KqMessage): void {
        handled.push([id, attempt]);
      }
    }
    const module = Test.createTestingModule({
      imports: [KqModule.forRoot({ logger: SILENT, brokers: 'memory' })],
      providers: [Shop],
    });
    app = await module.setLogger(SILENT).compile();
    const failed: string[] = [];
    app
      .get(KqEvents)
      .on('failed')
      .subscribe(({ error }) => failed.push(error.message));
    server.freeze();
    try {
      await app.init();
      const pusher = app.get(KqPusher);
      await expect(pusher.push(Orders, { id: 'b', cents: 2 })).rejects.toMatchObject({ code: 'KQ_REGISTRY' });
      await pusher.push(defineTopic(topic, { format: 'bytes' }), stored);
      await eventually('the message failed twice', async () => failed.length >= 2);
      expect(handled).toEqual([]);
    } finally {
      server.thaw();
    }
    await eventually('the message is handled', async () => handled.length > 0);
    expect(handled).toEqual([['a', 1]]);
    expect(failed[0]).toMatch(/^KQ_REGISTRY: GET http.*\/schemas\/ids\/\d+: /);
  });
});
