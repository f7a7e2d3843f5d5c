// java Build.java JAR SOURCE...: compiles sources of any names, that with main first, into a jar that `java -jar` runs.
//
// javac alone wants a public class to lie in a file of its own name, and jar wants to be told where main is. Submissions
// come as one text with any class in it, so this asks the compiler itself for both.
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
  // No annotation processors: they would be code of others in the compiler.
  private static final List<String> OPTIONS = List.of("-proc:none", "-nowarn", "-Xlint:none");
  private static final int MAIN_NEED_NOT_BE_STATIC = 25;  // since this version
  private static final long TIME = 315532800000L;  // of all entries: the same source makes the same jar

  public static void main(String[] args) throws Exception {
    JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
    DiagnosticCollector<JavaFileObject> said = new DiagnosticCollector<>();
    try (Made made = new Made(compiler.getStandardFileManager(said, null, StandardCharsets.UTF_8))) {
      List<Source> sources = new ArrayList<>();
      for (int i = 1; i < args.length; ++i) sources.add(new Source(Path.of(args[i])));
      JavacTask task = (JavacTask) compiler.getTask(null, made, said, OPTIONS, null, sources);
      List<String> types = types(task.parse());
      if (!hasErrors(said)) task.generate();
      for (Diagnostic<?> diagnostic : said.getDiagnostics()) System.err.println(diagnostic);
      if (hasErrors(said)) System.exit(1);
      write(Path.of(args[0]), main(types, made.classes), made.classes);
    }
  }

  private static boolean hasErrors(DiagnosticCollector<JavaFileObject> said) {
    return said.getDiagnostics().stream().anyMatch(diagnostic -> diagnostic.getKind() == Diagnostic.Kind.ERROR);
  }

  // The names of all classes outside of others, in their order, public ones first, then the one that judges ask for.
  private static List<String> types(Iterable<? extends CompilationUnitTree> units) {
    List<String> types = new ArrayList<>();
    int visible = 0;
    for (CompilationUnitTree unit : units)
      for (Tree declared : unit.getTypeDecls()) {
        if (!(declared instanceof ClassTree)) continue;
        ClassTree type = (ClassTree) declared;
        String name = (unit.getPackageName() == null ? "" : unit.getPackageName() + ".") + type.getSimpleName();
        boolean isPublic = type.getModifiers().getFlags().contains(javax.lang.model.element.Modifier.PUBLIC);
        boolean isUsual = type.getSimpleName().contentEquals("Main");
        types.add(isPublic ? visible++ : isUsual ? visible : types.size(), name);
      }
    return types;
  }

  private static String main(List<String> types, Map<String, byte[]> classes) {
    Loader loader = new Loader(classes);
    for (String type : types)
      if (classes.containsKey(type) && hasMain(loader, type)) return type;
    System.err.println("error: no class has a public static void main(String[])");
    System.exit(1);
    return "";
  }

  private static boolean hasMain(Loader loader, String type) {
    try {
      for (Class<?> at = Class.forName(type, false, loader); at != null; at = at.getSuperclass())
        for (Method method : at.getDeclaredMethods())
          if (isMain(method)) return true;
    } catch (ClassNotFoundException | LinkageError broken) {
      // It cannot be loaded when it is run either.
    }
    return false;
  }

  private static boolean isMain(Method method) {
    if (!method.getName().equals("main") || method.getReturnType() != void.class) return false;
    Class<?>[] given = method.getParameterTypes();
    boolean takesArguments = given.length == 1 && given[0] == String[].class;
    int modifiers = method.getModifiers();
    if (takesArguments && Modifier.isPublic(modifiers) && Modifier.isStatic(modifiers)) return true;
    return Runtime.version().feature() >= MAIN_NEED_NOT_BE_STATIC && !Modifier.isPrivate(modifiers) && (takesArguments || given.length == 0);
  }

  private static void write(Path jar, String main, Map<String, byte[]> classes) throws IOException {
    try (ZipOutputStream out = new ZipOutputStream(Files.newOutputStream(jar))) {
      add(out, "META-INF/MANIFEST.MF", manifest(main));
      for (Map.Entry<String, byte[]> made : classes.entrySet()) add(out, made.getKey().replace('.', '/') + ".class", made.getValue());
    }
  }

  // A line of a manifest holds 72 bytes; what is longer goes on behind a blank.
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
    entry.setTime(TIME);
    out.putNextEntry(entry);
    out.write(content);
    out.closeEntry();
  }

  private static class Source extends SimpleJavaFileObject {
    private final String text;

    Source(Path path) throws IOException {
      super(path.toUri(), Kind.SOURCE);
      text = new String(Files.readAllBytes(path), StandardCharsets.UTF_8).replaceFirst("^\\x{FEFF}", "");  // javac takes no mark
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
      return Path.of(uri).getFileName().toString();  // errors name the file, not the folder that it happens to be in
    }
  }

  // Keeps what the compiler makes.
  private static class Made extends ForwardingJavaFileManager<JavaFileManager> {
    final Map<String, byte[]> classes = new TreeMap<>();

    Made(JavaFileManager system) {
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
