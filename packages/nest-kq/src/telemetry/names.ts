import type { Attributes } from '@opentelemetry/api';

/** The name of our tracer and our meter. */
export const SCOPE = 'nest-kq';

/**
 * The conventions' attributes of a topic, of version 1.45: https://opentelemetry.io/docs/specs/semconv/messaging/kafka/
 * `messaging.system` is what they had before `messaging.system.name`.
 */
export function topicAttributes(topic: string, operation: 'send' | 'process'): Attributes {
  return {
    'messaging.system.name': 'kafka',
    'messaging.system': 'kafka',
    'messaging.destination.name': topic,
    'messaging.operation.name': operation,
    'messaging.operation.type': operation,
  };
}

export const GROUP = 'messaging.consumer.group.name';
export const PARTITION = 'messaging.destination.partition.id';
