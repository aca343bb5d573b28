// A plugin of TypeDoc: each field of a named class or interface has a comment. Those of a type without a name are documented where
// that type stands, so TypeDoc's own check, which asks for them too, leaves out properties (typedoc.json).
import { Application, ReflectionKind } from 'typedoc';

export function load(app) {
  app.on(Application.EVENT_VALIDATE_PROJECT, (project) => {
    for (const field of project.getReflectionsByKind(ReflectionKind.Property)) {
      if (!field.parent?.kindOf(ReflectionKind.ClassOrInterface)) continue;
      const documented =
        field.hasComment() || field.type?.declaration?.signatures?.some((call) => call.hasComment());
      if (!documented) app.logger.warn(`${field.getFullName()} has no comment`);
    }
  });
}
