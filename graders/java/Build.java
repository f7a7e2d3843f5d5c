// java Build.java JAR SOURCE...: compiles sources with any file names into a jar for `java -jar`. The source with `main`
// comes first.
//
// javac requires that a public class is in a file of the same name, and jar needs the name of the main class. A
// submission is one source with any classes, so this gets both from the compiler's API.
import com.sun.source.tree.ClassTree;
import com.sun.source.tree.CompilationUnitTree;
import com.sun.source.tree.Tree;
import com.sun.source.util.JavacTask;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import javax.tools.Diagnostic;
import javax.tools.DiagnosticCollector;
import javax.tools.FileObject;
import javax.tools.ForwardingJavaFileManager;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileManager;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;

public class Build {
  // No annotation processors, because they would run a submission's code in the compiler.
  private static final List<String> OPTIONS = List.of("-proc:none", "-nowarn", "-Xlint:none");
  private static final int MAIN_NEED_NOT_BE_STATIC = 25;  // Java version
  private static final long ENTRY_TIME_MS = 315532800000L;  // fixed, so that equal sources give equal jars

  public static void main(String[] args) throws Exception {
    JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
    DiagnosticCollector<JavaFileObject> diagnostics = new DiagnosticCollector<>();
    try (ClassOutput output = new ClassOutput(compiler.getStandardFileManager(diagnostics, null, StandardCharsets.UTF_8))) {
      List<Source> sources = new ArrayList<>();
      for (int i = 1; i < args.length; ++i) sources.add(new Source(Path.of(args[i])));
      JavacTask task = (JavacTask) compiler.getTask(null, output, diagnostics, OPTIONS, null, sources);
      List<String> types = types(task.parse());
      if (!hasErrors(diagnostics)) task.generate();
      for (Diagnostic<?> diagnostic : diagnostics.getDiagnostics()) System.err.println(diagnostic);
      if (hasErrors(diagnostics)) System.exit(1);
      write(Path.of(args[0]), mainClass(types, output.classes), output.classes);
    }
  }

  private static boolean hasErrors(DiagnosticCollector<JavaFileObject> diagnostics) {
    return diagnostics.getDiagnostics().stream().anyMatch(diagnostic -> diagnostic.getKind() == Diagnostic.Kind.ERROR);
  }

  // Returns the names of all top-level classes in source order, except that public ones come first, then `Main`.
  private static List<String> types(Iterable<? extends CompilationUnitTree> units) {
    List<String> types = new ArrayList<>();
    int publicTypes = 0;
    for (CompilationUnitTree unit : units)
      for (Tree declaration : unit.getTypeDecls()) {
        if (!(declaration instanceof ClassTree)) continue;
        ClassTree type = (ClassTree) declaration;
        String name = (unit.getPackageName() == null ? "" : unit.getPackageName() + ".") + type.getSimpleName();
        boolean isPublic = type.getModifiers().getFlags().contains(javax.lang.model.element.Modifier.PUBLIC);
        boolean isMain = type.getSimpleName().contentEquals("Main");
        types.add(isPublic ? publicTypes++ : isMain ? publicTypes : types.size(), name);
      }
    return types;
  }

  private static String mainClass(List<String> types, Map<String, byte[]> classes) {
    Loader loader = new Loader(classes);
    for (String type : types)
      if (classes.containsKey(type) && hasMain(loader, type)) return type;
    System.err.println("error: no class has a public static void main(String[])");
    System.exit(1);
    return "";
  }

  private static boolean hasMain(Loader loader, String type) {
    try {
      for (Class<?> current = Class.forName(type, false, loader); current != null; current = current.getSuperclass())
        for (Method method : current.getDeclaredMethods())
          if (isMain(method)) return true;
    } catch (ClassNotFoundException | LinkageError error) {
      // Java could not load the class when it runs the program either.
    }
    return false;
  }

  private static boolean isMain(Method method) {
    if (!method.getName().equals("main") || method.getReturnType() != void.class) return false;
    Class<?>[] parameters = method.getParameterTypes();
    boolean takesArguments = parameters.length == 1 && parameters[0] == String[].class;
    int modifiers = method.getModifiers();
    if (takesArguments && Modifier.isPublic(modifiers) && Modifier.isStatic(modifiers)) return true;
    return Runtime.version().feature() >= MAIN_NEED_NOT_BE_STATIC && !Modifier.isPrivate(modifiers) && (takesArguments || parameters.length == 0);
  }

  private static void write(Path jar, String main, Map<String, byte[]> classes) throws IOException {
    try (ZipOutputStream out = new ZipOutputStream(Files.newOutputStream(jar))) {
      add(out, "META-INF/MANIFEST.MF", manifest(main));
      for (Map.Entry<String, byte[]> type : classes.entrySet()) add(out, type.getKey().replace('.', '/') + ".class", type.getValue());
    }
  }

  // Returns the manifest. Its lines have at most 72 bytes; a longer one continues on the next line after a blank.
  private static byte[] manifest(String main) {
    byte[] line = ("Main-Class: " + main).getBytes(StandardCharsets.UTF_8);
    ByteArrayOutputStream text = new ByteArrayOutputStream();
    text.writeBytes("Manifest-Version: 1.0\r\n".getBytes(StandardCharsets.UTF_8));
    for (int i = 0; i < line.length; ++i) {
      if (i > 0 && i % 70 == 0) text.writeBytes("\r\n ".getBytes(StandardCharsets.UTF_8));
      text.write(line[i]);
    }
    text.writeBytes("\r\n\r\n".getBytes(StandardCharsets.UTF_8));
    return text.toByteArray();
  }

  private static void add(ZipOutputStream out, String name, byte[] content) throws IOException {
    ZipEntry entry = new ZipEntry(name);
    entry.setTime(ENTRY_TIME_MS);
    out.putNextEntry(entry);
    out.write(content);
    out.closeEntry();
  }

  private static class Source extends SimpleJavaFileObject {
    private final String text;

    Source(Path path) throws IOException {
      super(path.toUri(), Kind.SOURCE);
      text = new String(Files.readAllBytes(path), StandardCharsets.UTF_8).replaceFirst("^\\x{FEFF}", "");  // javac rejects a byte order mark
    }

    @Override
    public CharSequence getCharContent(boolean ignoreEncodingErrors) {
      return text;
    }

    @Override
    public boolean isNameCompatible(String simpleName, Kind kind) {
      return true;
    }

    @Override
    public String getName() {
      return Path.of(uri).getFileName().toString();  // errors name the file without its folder
    }
  }

  // Stores the compiler's output in memory.
  private static class ClassOutput extends ForwardingJavaFileManager<JavaFileManager> {
    final Map<String, byte[]> classes = new TreeMap<>();

    ClassOutput(JavaFileManager system) {
      super(system);
    }

    @Override
    public JavaFileObject getJavaFileForOutput(Location location, String name, JavaFileObject.Kind kind, FileObject sibling) {
      return new SimpleJavaFileObject(URI.create("made:///class"), kind) {
        @Override
        public OutputStream openOutputStream() {
          return new ByteArrayOutputStream() {
            @Override
            public void close() {
              classes.put(name, toByteArray());
            }
          };
        }
      };
    }
  }

  private static class Loader extends ClassLoader {
    private final Map<String, byte[]> classes;

    Loader(Map<String, byte[]> classes) {
      this.classes = classes;
    }

    @Override
    protected Class<?> findClass(String name) throws ClassNotFoundException {
      byte[] code = classes.get(name);
      if (code == null) throw new ClassNotFoundException(name);
      return defineClass(name, code, 0, code.length);
    }
  }
}
