/** Name of our tracer and our meter. */
export const SCOPE = 'nest-dq';

/**
 * Returns a tube's attributes by the semantic conventions: https://opentelemetry.io/docs/specs/semconv/messaging/.
 * `messaging.system` is the former name of `messaging.system.name`.
 */
export function tubeAttributes(tube: string, operation: 'schedule' | 'process') {
  return {
    'messaging.system.name': 'nest_dq',
    'messaging.system': 'nest_dq',
    'messaging.destination.name': tube,
    'messaging.operation.name': operation,
    'messaging.operation.type': operation === 'schedule' ? 'send' : 'process',
  };
}
